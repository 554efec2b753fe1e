"""The features of all pairs of a sampled row and a key that it sees, as the columns of a regression."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Columns that are added to a prediction together: features, or an indicator for each class of cells.

    Attributes:
        dense: features, `[column, cell]`; none where there are codes.
        codes: the class of each cell from 1, 0 for none, `[cell]`; None where there are features.
        n_codes: number of classes.
        ridge: penalty on the square of each coefficient, in rows.
    """

    dense: Floats
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

    def row_sums(self, values: Floats) -> Floats:
        """Return the sums of values over the cells of each row, `[..., cell]` to `[..., row]`."""
        return np.add.reduceat(values, self.starts, axis=-1)

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


class Columns:
    """The columns of some groups side by side: products and sums of a regression.

    Args:
        design: rows and cells.
        groups: names of the blocks.

    Attributes:
        slices: the columns of each group.
        ridge: of each column.
    """

    def __init__(self, design: Design, groups: Sequence[str]) -> None:
        self.design = design
        self.slices: dict[str, slice] = {}
        dense: list[Floats] = []
        self._codes: list[tuple[slice, Integers]] = []
        self._dense: list[slice] = []
        ridge: list[Floats] = []
        width = 0
        for group in groups:
            block = design.blocks[group]
            part = self.slices[group] = slice(width, width + block.width)
            ridge.append(np.full(block.width, block.ridge))
            width = part.stop
            if block.codes is None:
                dense.append(block.dense)
                self._dense.append(part)
            else:
                self._codes.append((part, block.codes))
        self.ridge = np.concatenate(ridge) if ridge else np.zeros(0)
        self._features = np.concatenate(dense) if dense else np.zeros((0, design.n_cells))
        self._at = (
            np.concatenate([np.arange(width)[part] for part in self._dense]) if dense else np.zeros(0, int)
        )

    def extended(self, coefficients: Floats, of: "Columns") -> Floats:
        """Return coefficients of these columns: those of other columns where they are the same, else 0."""
        start = np.zeros(len(self.ridge))
        for group, part in of.slices.items():
            start[self.slices[group]] = coefficients[part]
        return start

    def logits(self, coefficients: Floats) -> Floats:
        """Return what the columns add up to, `[cell]`."""
        logits = coefficients[self._at] @ self._features
        for part, codes in self._codes:
            logits += np.append(0.0, coefficients[part])[codes]
        return np.asarray(logits)

    def sums(self, values: Floats) -> Floats:
        """Return the sum over cells of each column times a value, `[column]`."""
        sums = np.empty(len(self.ridge))
        sums[self._at] = self._features @ values
        for part, codes in self._codes:
            sums[part] = _by_code(codes, values, part)
        return sums

    def by_row(self, values: Floats) -> Floats:
        """Return the same sums for each row, `[row, column]`."""
        rows = len(self.design.starts)
        sums = np.empty((rows, len(self.ridge)))
        sums[:, self._at] = self.design.row_sums(self._features * values).T
        for part, codes in self._codes:
            width = part.stop - part.start + 1
            cells = self.design.row_of * width + codes
            counts = np.bincount(cells, weights=values, minlength=rows * width)
            sums[:, part] = counts.reshape(rows, width)[:, 1:]
        return sums

    def products(self, weights: Floats) -> Floats:
        """Return the weighted products of all pairs of columns, `[column, column]`."""
        products = np.zeros((len(self.ridge), len(self.ridge)))
        weighted = self._features * weights
        products[np.ix_(self._at, self._at)] = weighted @ self._features.T
        for number, (part, codes) in enumerate(self._codes):
            places = np.arange(part.start, part.stop)
            products[places, places] = _by_code(codes, weights, part)
            for at, feature in zip(self._at, weighted, strict=True):
                products[at, part] = products[part, at] = _by_code(codes, feature, part)
            for other, more in self._codes[:number]:
                width = part.stop - part.start + 1
                size = (other.stop - other.start + 1) * width
                counts = np.bincount(more * width + codes, weights=weights, minlength=size)
                crossed = counts.reshape(-1, width)[1:, 1:]
                products[other, part], products[part, other] = crossed, crossed.T
        return products


def _by_code(codes: Integers, values: Floats, part: slice) -> Floats:
    sums = np.bincount(codes, weights=values, minlength=part.stop - part.start + 1)
    return sums[1:].astype(np.float64, copy=False)
