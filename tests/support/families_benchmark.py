"""`benchmarks/families.py` as a module, and the families that its page lists."""

import functools
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[2]


@functools.cache
def families_benchmark() -> ModuleType:
    """Import the benchmark; its folder is on the path only while it is imported."""
    folder = ROOT / "benchmarks"
    sys.path.insert(0, str(folder))
    try:
        spec = importlib.util.spec_from_file_location("families", folder / "families.py")
        module = importlib.util.module_from_spec(spec)
        sys.modules["families"] = module
        spec.loader.exec_module(module)
        return module
    finally:
        sys.path.remove(str(folder))


def families_read(*paths: str) -> list[str]:
    """Return the families that the benchmark reads by one of these paths: `fused`, `eager`, `fallback`."""
    lines = (ROOT / "docs" / "families.md").read_text().splitlines()
    rows = (line.removeprefix("| ").split(" | ") for line in lines)
    return [row[0] for row in rows if len(row) > 2 and row[1] in paths]
