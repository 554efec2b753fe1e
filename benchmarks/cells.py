"""Cells of a calibration: the simulated world, the result, the promise; and a runner for a plan of cells."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05
WANTED = (0.93, 0.97)
WANTED_OF_TEN = 0.92
FEWEST_RUNS = 220
"""Smallest number of runs for a test: two standard errors around 5% exclude 8%. Intervals come in thousands."""

_PROMISED = {"false-discovery": LEVEL, "coverage": 0.95, "coverage-at-least": 0.95, "coverage-of-choice": 0.95}


@dataclass(frozen=True)
class Cell:
    """One line: the check, the world, the number of documents, the number of runs, and the result."""

    check: str
    world: str
    documents: int
    runs: int
    value: float

    @property
    def error(self) -> float:
        """Standard error of the simulation, if the true value is the promised one."""
        wanted = _PROMISED.get(self.check, self.value)
        return float(np.sqrt(wanted * (1 - wanted) / self.runs))

    @property
    def kept(self) -> bool | None:
        """True if the promise is kept within two standard errors; None for checks without a promise."""
        if self.check not in _PROMISED:
            return None
        if self.check == "false-discovery":
            return self.value <= LEVEL + 2 * self.error
        low, high = WANTED if self.documents >= 30 else (WANTED_OF_TEN, 1.0)
        if self.check != "coverage":  # these checks may be conservative
            high = 1.0
        return low - 2 * self.error <= self.value <= high + 2 * self.error


def covered(low: NDArray[np.float64], high: NDArray[np.float64], truth: float) -> float:
    """Return the share of intervals that contain the truth."""
    return float(((low <= truth) & (truth <= high)).mean())


def show(cell: Cell) -> str:
    """Return a line of the table."""
    kept = {True: "", False: "  NOT KEPT", None: ""}[cell.kept]
    return f"{cell.check:32} {cell.world:52} {cell.documents:4} documents {cell.runs:5} runs {cell.value:7.3f}{kept}"


def print_cells(plan: Callable[..., Iterable[tuple[Callable[[Any], list[Cell]], Any]]], *, description: str) -> int:
    """Run a plan with the options of the command line, and print every cell; return 1 if a promise is not kept.

    Args:
        plan: takes `quick`, yields functions of one argument, each with its argument.
        description: description of the command.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="fewer cells, a few minutes")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each cell")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    began, missed = time.perf_counter(), 0
    with ProcessPoolExecutor(options.workers) as pool:
        for future in [pool.submit(function, task) for function, task in plan(quick=options.quick)]:
            for cell in future.result():
                print(json.dumps(asdict(cell)) if options.json else show(cell), flush=True)
                missed += cell.kept is False
    print(f"{missed} promises not kept; {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return 1 if missed else 0
