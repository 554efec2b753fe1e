"""Plant defects in a copy of the tree, one at a time, and print which of them the tests find.

    python tests/mutants/run.py                      all defects
    python tests/mutants/run.py --folder attention   defects of one folder of src/headscope, or of one package
    python tests/mutants/run.py --match ratio        defects with this text in their file, code or tests
    python tests/mutants/run.py --check              only check that each defect can be planted

A missed defect means that a promise has lost its test: the command then ends with status 1. Where a file does not
contain the text of a defect exactly once, nothing runs, and the command names the entries of `defects` to rewrite.
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
# Folders that no test reads: environments, caches and output of tests.
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
    """List the defects that cannot be planted, with the reason and the remedy."""
    said = []
    for defect in defects:
        path = ROOT / defect.path
        if not path.is_file():
            said.append(f"{defect.file}: the file does not exist; name the file that the code moved to")
            continue
        times = path.read_text(encoding="utf-8").count(defect.old)
        if times != 1:
            said.append(
                f"{defect.file}: the file contains {defect.old!r} {times} times, expected once; copy the line from the "
                "file"
            )
        said += [
            f"{defect.file}: tests/{test} is not a test; name one as folder/test_file.py::test_function"
            for test in defect.tests
            if not is_test(test)
        ]
    return said


def is_test(name: str) -> bool:
    """Return True if a name, such as `maps/test_pickles.py::test_rows[case]`, is that of a test function."""
    path, _, function = name.partition("::")
    file = ROOT / "tests" / path
    return file.is_file() and f"def {function.partition('[')[0]}(" in file.read_text(encoding="utf-8")


def copied(folder: Path) -> Path:
    """Copy the tree into a folder, without environments and caches."""
    shutil.copytree(ROOT, folder, ignore=LEFT_OUT, symlinks=True)
    modules = ROOT / "tests" / "views" / "js" / "node_modules"
    if modules.is_dir():
        (folder / "tests" / "views" / "js" / "node_modules").symlink_to(modules)
    return folder


def finds(tree: Path, tests: tuple[str, ...]) -> bool:
    """Return True if a test fails in a tree.

    Raises:
        RuntimeError: pytest could not run the tests.
    """
    output = tree / "output.txt"
    process = get_context("fork").Process(target=_test, args=(tree, tests, output))
    process.start()
    process.join(MOST_SECONDS)
    if process.is_alive():
        process.kill()
        return True  # a hanging test counts as a failure
    if process.exitcode not in (0, *FAILED):
        raise RuntimeError(f"pytest ended with {process.exitcode}:\n{output.read_text()[-4000:]}")
    return process.exitcode in FAILED


def _test(tree: Path, tests: tuple[str, ...], output: Path) -> None:
    """Run tests in a forked process, in which all slow imports are done except those of the package."""
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
    """Yield each defect, True if a test found it, and the seconds; restore the file after each."""
    for number, defect in enumerate(defects, 1):
        path = tree / defect.path
        whole = path.read_text(encoding="utf-8")
        began = time.monotonic()
        try:
            path.write_text(whole.replace(defect.old, defect.new), encoding="utf-8")
            # Python compares the times of sources in seconds: each defect needs a time that no compiled module has.
            os.utime(path, (0, number))
            yield defect, finds(tree, defect.tests), time.monotonic() - began
        finally:
            path.write_text(whole, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", help="folder of src/headscope, such as attention, or a package; all when left out")
    parser.add_argument(
        "--match", default="", metavar="TEXT", help="text in the file, the code or the tests of a defect"
    )
    parser.add_argument("--check", action="store_true", help="only check that each defect can be planted")
    options = parser.parse_args()
    folders = sorted({each.folder for each in DEFECTS})
    if options.folder not in (None, *folders):
        parser.error(f"--folder {options.folder}: there are defects in {', '.join(folders)}")
    chosen = [
        each
        for each in DEFECTS
        if options.folder in (None, each.folder)
        if any(options.match in text for text in (each.file, each.old, each.new, *each.tests))
    ]
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
        for defect, is_found, seconds in planted(chosen, copied(Path(folder) / "tree")):
            missed += not is_found
            print(f"{'found ' if is_found else 'MISSED'} {seconds:5.1f} s  {defect.file}: {defect.new!r}", flush=True)
    print(f"found {len(chosen) - missed} of {len(chosen)} defects")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
