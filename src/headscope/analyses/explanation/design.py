"""The features of all pairs of a sampled row and a key that it sees, as the columns of a regression."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Integers = NDArray[np.int64]
_Float = TypeVar("_Float", bound=np.floating[Any])
_CELLS = 4096


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Columns that are added to a prediction together: features, or an indicator for each class of cells.

    Attributes:
        dense: features, `[column, cell]`; none where there are codes.
        codes: the class of each cell from 1, 0 for none, `[cell]`; None where there are features.
        n_codes: number of classes.
        ridge: penalty on the square of each coefficient, in rows.
    """

    dense: Singles
    codes: Integers | None = None
    n_codes: int = 0
    ridge: float = 0.0

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.dense) + self.n_codes

    def only(self, cells: Integers) -> "Block":
        """Return the block of some cells."""
        codes = None if self.codes is None else self.codes[cells]
        return Block(dense=self.dense[:, cells], codes=codes, n_codes=self.n_codes, ridge=self.ridge)


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """Rows, the keys that each of them sees (cells), and the features of the cells.

    Attributes:
        starts: the first cell of each row, `[row]`.
        n_cells: number of cells.
        blocks: by group.
    """

    starts: Integers
    n_cells: int
    blocks: Mapping[str, Block]

    @cached_property
    def lengths(self) -> Integers:
        """The number of cells of each row."""
        return np.diff(self.starts, append=self.n_cells)

    @cached_property
    def row_of(self) -> Integers:
        """The row of each cell."""
        return np.repeat(np.arange(len(self.starts)), self.lengths)

    def row_sums(self, values: NDArray[_Float]) -> NDArray[_Float]:
        """Return the sums of values over the cells of each row, `[..., cell]` to `[..., row]`."""
        return np.add.reduceat(values, self.starts, axis=-1)

    @cached_property
    def parts(self) -> list[tuple[slice, slice]]:
        """Some rows after the other with their cells, so few that what is computed of them stays in the cache."""
        ends = np.append(self.starts, self.n_cells)
        parts, row = [], 0
        while row < len(self.starts):
            until = max(row + 1, int(np.searchsorted(ends, ends[row] + _CELLS, side="right")) - 1)
            parts.append((slice(row, until), slice(int(ends[row]), int(ends[until]))))
            row = until
        return parts

    def only(self, rows: Integers) -> tuple["Design", Integers]:
        """Return the design of some rows, and their cells."""
        lengths = self.lengths[rows]
        starts = np.cumsum(lengths) - lengths
        cells = np.repeat(self.starts[rows] - starts, lengths) + np.arange(lengths.sum())
        return self._of(starts, cells), cells

    def restricted(self, visible: NDArray[np.bool_]) -> "Design":
        """Return the design of the cells that are visible; every row must have one."""
        cells = np.flatnonzero(visible)
        return self._of(np.searchsorted(cells, self.starts), cells)

    def _of(self, starts: Integers, cells: Integers) -> "Design":
        blocks = {name: block.only(cells) for name, block in self.blocks.items()}
        return Design(starts=starts, n_cells=len(cells), blocks=blocks)
