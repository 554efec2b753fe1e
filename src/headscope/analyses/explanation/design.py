"""The features of all pairs of a sampled row and a key that it sees, as the columns of a regression."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.feature import TOKENS

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_Float = TypeVar("_Float", bound=np.floating[Any])


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """Columns that are added to a prediction together: features, or an indicator for each class of cells.

    Attributes:
        dense: features, `[column, cell]`, in double precision, or in single to select; none where there are codes.
        codes: the class of each cell from 1, 0 for none, `[cell]`; None where there are features.
        n_codes: number of classes.
        ridge: penalty on the square of each coefficient, in rows.
    """

    dense: NDArray[np.floating[Any]]
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

    def only(self, rows: Integers) -> tuple["Design", Integers]:
        """Return the design of some rows, and their cells."""
        lengths = self.lengths[rows]
        starts = np.cumsum(lengths) - lengths
        cells = np.repeat(self.starts[rows] - starts, lengths) + np.arange(lengths.sum())
        return self._of(starts, cells), cells

    def in_single_precision(self) -> "Design":
        """Return the design with features in single precision, which are enough to select and half as many bytes."""
        blocks = {
            name: replace(block, dense=block.dense.astype(np.float32)) for name, block in self.blocks.items()
        }
        return replace(self, blocks=blocks)

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
        token_ridge: penalty on the biases of tokens; that of their block when None.

    Attributes:
        slices: the columns of each group.
        ridge: of each column.
    """

    def __init__(self, design: Design, groups: Sequence[str], token_ridge: float | None = None) -> None:
        self.design, self.token_ridge = design, token_ridge
        self.slices: dict[str, slice] = {}
        self._dense: list[tuple[slice, Block]] = []
        self._coded: list[tuple[slice, Integers]] = []
        ridge: list[Floats] = []
        width = 0
        for group in groups:
            block = design.blocks[group]
            part = self.slices[group] = slice(width, width + block.width)
            chosen = group == TOKENS and token_ridge is not None
            ridge.append(np.full(block.width, token_ridge if chosen else block.ridge))
            width = part.stop
            if block.codes is None:
                self._dense.append((part, block))
            else:
                self._coded.append((part, block.codes))
        self.ridge = np.concatenate(ridge) if ridge else np.zeros(0)

    def extended(self, coefficients: Floats, of: "Columns") -> Floats:
        """Return coefficients of these columns: those of other columns where they are the same, else 0."""
        start = np.zeros(len(self.ridge))
        for group, part in of.slices.items():
            if group in self.slices:
                start[self.slices[group]] = coefficients[part]
        return start

    def logits(self, coefficients: Floats) -> Floats:
        """Return what the columns add up to, `[cell]`."""
        logits = np.zeros(self.design.n_cells)
        for part, block in self._dense:
            logits += coefficients[part].astype(block.dense.dtype) @ block.dense
        for part, codes in self._coded:
            logits += np.append(0.0, coefficients[part])[codes]
        return logits

    def sums(self, values: Floats) -> Floats:
        """Return the sum over cells of each column times a value, `[column]`."""
        sums = np.empty(len(self.ridge))
        for part, block in self._dense:
            sums[part] = block.dense @ values.astype(block.dense.dtype)
        for part, codes in self._coded:
            sums[part] = _by_code(codes, values, part)
        return sums

    @cached_property
    def _single(self) -> NDArray[np.float32]:
        """The features in single precision, which second derivatives need no more than."""
        features = [block.dense.astype(np.float32, copy=False) for _, block in self._dense]
        return np.concatenate(features) if features else np.zeros((0, self.design.n_cells), np.float32)

    def moments(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return weighted sums over the cells of each row, `[row, column]`, and weighted products, `[column, column]`.

        Both are computed in single precision.
        """
        rows, width = len(self.design.starts), len(self.ridge)
        sums, products = np.zeros((rows, width)), np.zeros((width, width))
        at = np.array([column for part, _ in self._dense for column in range(part.start, part.stop)], int)
        weighted = self._single * weights.astype(np.float32)
        sums[:, at] = self.design.row_sums(weighted).T
        products[np.ix_(at, at)] = weighted @ self._single.T
        for number, (part, codes) in enumerate(self._coded):
            size = part.stop - part.start + 1
            cells = self.design.row_of * size + codes
            sums[:, part] = np.bincount(cells, weights=weights, minlength=rows * size).reshape(rows, size)[
                :, 1:
            ]
            diagonal = np.arange(part.start, part.stop)
            products[diagonal, diagonal] = _by_code(codes, weights, part)
            coded = np.flatnonzero(codes)
            of_coded = codes[coded]
            for column, feature in zip(at, weighted[:, coded], strict=True):
                products[column, part] = products[part, column] = _by_code(of_coded, feature, part)
            for other, more in self._coded[:number]:
                both = (other.stop - other.start + 1) * size
                counts = np.bincount(more * size + codes, weights=weights, minlength=both)
                crossed = counts.reshape(-1, size)[1:, 1:]
                products[other, part], products[part, other] = crossed, crossed.T
        return sums, products


def _by_code(codes: Integers, values: NDArray[np.floating[Any]], part: slice) -> Floats:
    sums = np.bincount(codes, weights=values, minlength=part.stop - part.start + 1)
    return sums[1:].astype(np.float64, copy=False)
