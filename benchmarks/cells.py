"""One line of the calibration: what was simulated, what came out, and whether that keeps the promise."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05
WANTED = (0.93, 0.97)
WANTED_OF_TEN = 0.92
FEWEST_RUNS = 220
"""Of a test: two standard errors around 5% exclude 8%. Of an interval there are thousands."""

_PROMISED = {
    "false-discovery": LEVEL,
    "coverage": 0.95,
    "coverage-at-least": 0.95,
    "coverage-of-choice": 0.95,
}


@dataclass(frozen=True)
class Cell:
    """One line: what was checked, in which world, with how many documents, in how many runs, and what came out."""

    check: str
    world: str
    documents: int
    runs: int
    value: float

    @property
    def error(self) -> float:
        """Standard error of the simulation, of what the check should come to."""
        wanted = _PROMISED.get(self.check, self.value)
        return float(np.sqrt(wanted * (1 - wanted) / self.runs))

    @property
    def kept(self) -> bool | None:
        """Whether the promise is kept, two standard errors allowed; None where nothing is promised."""
        if self.check not in _PROMISED:
            return None
        if self.check == "false-discovery":
            return self.value <= LEVEL + 2 * self.error
        low, high = WANTED if self.documents >= 30 else (WANTED_OF_TEN, 1.0)
        if self.check != "coverage":  # errs on the side of too wide
            high = 1.0
        return low - 2 * self.error <= self.value <= high + 2 * self.error


def covered(low: NDArray[np.float64], high: NDArray[np.float64], truth: float) -> float:
    """Return the share of intervals that hold the truth."""
    return float(((low <= truth) & (truth <= high)).mean())


def show(cell: Cell) -> str:
    """Return a line of the table."""
    kept = {True: "", False: "  NOT KEPT", None: ""}[cell.kept]
    return f"{cell.check:32} {cell.world:52} {cell.documents:4} documents {cell.runs:5} runs {cell.value:7.3f}{kept}"
