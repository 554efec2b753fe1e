"""Plants defects in a copy of the tree, one at a time, and says which the tests find.

    python tests/mutants/run.py                      all of them, folder by folder
    python tests/mutants/run.py --folder attention   those of one folder of src/headscope, or of one package
    python tests/mutants/run.py --check              only whether each can still be planted

A defect that no test finds is missed, and the command ends with 1: a promise lost its test. Where the text of a
defect no longer stands in its file exactly once, nothing is run, and it is said which to write anew (`defects.py`).
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

import pytest
from defects import DEFECTS, Defect

ROOT = Path(__file__).resolve().parents[2]
# Environments, caches and what tests write: no test reads them.
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", ".*_cache", ".hypothesis", "__pycache__", "node_modules", "*.egg-info", "findings", "shared"
)
MOST_SECONDS = 600
LONG_TO_IMPORT = (
    "torch",
    "transformers",
    "pandas",
    "scipy.stats",
    "sklearn.metrics",
    "matplotlib.figure",
    "hypothesis",
)
FAILED = (1, 2)  # a test failed; a file of tests could not be imported


def troubles(defects: list[Defect]) -> list[str]:
    """Say of each defect that cannot be planted why, and what to do."""
    said = []
    for defect in defects:
        path = ROOT / defect.path
        if not path.is_file():
            said.append(f"{defect.file}: there is no such file; name the one that the code moved to")
            continue
        times = path.read_text(encoding="utf-8").count(defect.old)
        if times != 1:
            said.append(
                f"{defect.file}: {defect.old!r} stands there {times} times, expected once; give the text of the line "
                "as it is now"
            )
        for test in defect.tests:
            if not (ROOT / "tests" / test.partition("::")[0]).is_file():
                said.append(f"{defect.file}: there are no tests in tests/{test}; name those that should find it")
    return said


def copied(folder: Path) -> Path:
    """Copy the tree into a folder, without what is made anew."""
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT, symlinks=True)
    modules = ROOT / "tests" / "views" / "js" / "node_modules"
    if modules.is_dir():
        (folder / "tests" / "views" / "js" / "node_modules").symlink_to(modules)
    return folder


def finds(tree: Path, tests: tuple[str, ...]) -> bool:
    """Whether one of the tests fails in a tree.

    Raises:
        RuntimeError: they could not be run at all.
    """
    output = tree / "output.txt"
    process = get_context("fork").Process(target=_test, args=(tree, tests, output))
    process.start()
    process.join(MOST_SECONDS)
    if process.is_alive():
        process.kill()
        return True  # it hangs, which somebody would notice
    if process.exitcode not in (0, *FAILED):
        raise RuntimeError(f"pytest ended with {process.exitcode}:\n{output.read_text()[-4000:]}")
    return process.exitcode in FAILED


def _test(tree: Path, tests: tuple[str, ...], output: Path) -> None:
    """Run tests in a process of their own, which has all that takes long to import but the package itself."""
    with output.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(tree)
    sources = [str(path) for path in (tree / "src", *sorted(tree.glob("packages/*/src")))]
    sys.path[:0] = sources
    os.environ["PYTHONPATH"] = os.pathsep.join(sources)
    given = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *(f"tests/{test}" for test in tests)]
    code = int(pytest.main(given))
    sys.stdout.flush()
    os._exit(code)


def planted(defects: list[Defect], tree: Path) -> Iterator[tuple[Defect, bool, float]]:
    """Yield each defect with whether it was found, and the seconds that took; the tree is mended in between."""
    for number, defect in enumerate(defects, 1):
        path = tree / defect.path
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
    parser.add_argument("--folder", help="of src/headscope, such as attention, or a package; all when left out")
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
    os.environ |= {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    for name in LONG_TO_IMPORT:
        import_module(name)
    missed = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        for defect, found, seconds in planted(chosen, copied(Path(folder) / "tree")):
            missed += not found
            print(f"{'found ' if found else 'MISSED'} {seconds:5.0f} s  {defect.file}: {defect.new}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} found")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
