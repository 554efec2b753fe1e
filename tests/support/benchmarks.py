"""The scripts of `benchmarks/`, as modules to test."""

import functools
import importlib
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[2] / "benchmarks"


@functools.cache
def benchmark(name: str) -> ModuleType:
    """Import a script of the folder, which is on `sys.path` only during the import."""
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(FOLDER))


def families_read(*paths: str) -> list[str]:
    """Return the families that `families.py` reads by one of these paths: `fused`, `eager`, `fallback`."""
    lines = (FOLDER.parent / "docs" / "reference" / "families.md").read_text().splitlines()
    rows = (line.removeprefix("| ").split(" | ") for line in lines)
    return [row[0] for row in rows if len(row) > 2 and row[1] in paths]
