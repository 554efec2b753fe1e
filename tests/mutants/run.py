"""Plants defects in a copy of the tree, one at a time, and says which the tests find.

    python tests/mutants/run.py                      all of them, folder by folder
    python tests/mutants/run.py --folder attention   those of one folder of src/headscope
    python tests/mutants/run.py --check              only whether each can still be planted

A defect that no test finds is missed, and the command ends with 1: a promise lost its test. Where the text of a
defect no longer stands in its file exactly once, nothing is run, and it is said which to write anew (`defects.py`).
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from defects import DEFECTS, Defect

ROOT = Path(__file__).resolve().parents[2]
SOURCE = "src/headscope"
# What tests read; the rest of the tree (environments, caches, reports) is not copied.
COPIED = (
    "src",
    "tests",
    "docs",
    "benchmarks",
    "examples",
    "models",
    "pyproject.toml",
    "README.md",
    "Makefile",
)
LEFT_OUT = shutil.ignore_patterns("__pycache__", "node_modules", "*.egg-info", ".pytest_cache", "findings")
MOST_SECONDS = 600
FAILED = (1, 2)  # a test failed; a file of tests could not be imported


def troubles(defects: list[Defect]) -> list[str]:
    """Say of each defect that cannot be planted why, and what to do."""
    said = []
    for defect in defects:
        path = ROOT / SOURCE / defect.file
        if not path.is_file():
            said.append(
                f"{defect.file}: there is no such file in {SOURCE}; name the one that the code moved to"
            )
            continue
        times = path.read_text(encoding="utf-8").count(defect.old)
        if times != 1:
            said.append(
                f"{defect.file}: {defect.old!r} stands there {times} times, expected once; give the text of the line "
                "as it is now"
            )
        for test in defect.tests:
            if not (ROOT / "tests" / test.partition("::")[0]).is_file():
                said.append(
                    f"{defect.file}: there are no tests in tests/{test}; name those that should find it"
                )
    return said


def copied(folder: Path) -> Path:
    """Copy the tree, without what is made anew."""
    for name in COPIED:
        source, target = ROOT / name, folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=LEFT_OUT, symlinks=True)
        else:
            shutil.copy(source, target)
    modules = ROOT / "tests" / "views" / "js" / "node_modules"
    if modules.is_dir():
        (folder / "tests" / "views" / "js" / "node_modules").symlink_to(modules)
    return folder


def finds(tree: Path, tests: tuple[str, ...]) -> bool:
    """Whether one of the tests fails in a tree.

    Raises:
        RuntimeError: they could not be run at all.
    """
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "HF_HUB_OFFLINE": "1"}
    environment.setdefault("OMP_NUM_THREADS", "1")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "--numprocesses", "0"]
    try:
        done = subprocess.run(
            [*command, *(f"tests/{test}" for test in tests)],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return True  # it hangs, which somebody would notice
    if done.returncode not in (0, *FAILED):
        raise RuntimeError(
            f"pytest ended with {done.returncode}:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )
    return done.returncode in FAILED


def planted(defects: list[Defect], tree: Path) -> Iterator[tuple[Defect, bool, float]]:
    """Yield each defect with whether it was found, and the seconds that took; the tree is mended in between."""
    for number, defect in enumerate(defects, 1):
        path = tree / SOURCE / defect.file
        whole = path.read_text(encoding="utf-8")
        began = time.monotonic()
        try:
            path.write_text(whole.replace(defect.old, defect.new), encoding="utf-8")
            # Compiled modules are told apart by the second: none may be taken for that of another defect.
            os.utime(path, (0, number))
            yield defect, finds(tree, defect.tests), time.monotonic() - began
        finally:
            path.write_text(whole, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", help="of src/headscope, such as attention; all when left out")
    parser.add_argument("--check", action="store_true", help="only whether each can be planted")
    options = parser.parse_args()
    folders = sorted({each.folder for each in DEFECTS})
    if options.folder not in (None, *folders):
        parser.error(f"--folder {options.folder}: there are defects in {', '.join(folders)}")
    chosen = [each for each in DEFECTS if options.folder in (None, each.folder)]
    if said := troubles(chosen):
        print("\n".join(said), file=sys.stderr)
        return 2
    if options.check:
        print(f"{len(chosen)} defects in {len({each.folder for each in chosen})} folders can be planted")
        return 0
    missed = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for defect, found, seconds in planted(chosen, copied(Path(folder))):
            missed += not found
            print(
                f"{'found ' if found else 'MISSED'} {seconds:5.0f} s  {defect.file}: {defect.new}", flush=True
            )
    print(f"{len(chosen) - missed} of {len(chosen)} found")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
