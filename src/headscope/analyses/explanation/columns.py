"""The columns of a regression: the features of some groups side by side, their products and sums."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.design import Design, Floats, Integers, Singles
from headscope.analyses.explanation.feature import TOKENS

Precision = type[np.float32] | type[np.float64]


class Columns:
    """The columns of some groups side by side: products and sums of a regression.

    Args:
        design: rows and cells.
        groups: names of the blocks.
        token_ridge: penalty on the biases of tokens; that of their block when None.
        precision: of logits and sums; single is enough to select.

    Attributes:
        groups: names of the blocks.
        slices: the columns of each group.
        ridge: of each column.
    """

    def __init__(
        self, design: Design, groups: Sequence[str], token_ridge: float | None = None, precision: Precision = np.float64
    ) -> None:
        self.design, self.groups, self.token_ridge = design, tuple(groups), token_ridge
        self.precision = precision
        self.slices: dict[str, slice] = {}
        self._dense: list[slice] = []
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
                self._dense.append(part)
            else:
                self._coded.append((part, block.codes))
        self.ridge = np.concatenate(ridge) if ridge else np.zeros(0)
        self._memories: dict[Precision, NDArray[np.floating[Any]]] = {}
        self._at = np.array([column for part in self._dense for column in range(part.start, part.stop)], int)

    def extended(self, coefficients: Floats, of: "Columns") -> Floats:
        """Return coefficients of these columns: those of other columns where they are the same, else 0."""
        start = np.zeros(len(self.ridge))
        for group, part in of.slices.items():
            if group in self.slices:
                start[self.slices[group]] = coefficients[part]
        return start

    def first(self, number: int, precision: Precision) -> "Columns":
        """Return the columns of the first groups, which share the memory of their features."""
        fewer = Columns(self.design, self.groups[:number], self.token_ridge, precision)
        fewer._features = self._features[: len(fewer._at)]
        return fewer

    @cached_property
    def _features(self) -> Singles:
        """The features one below the other, `[column, cell]`."""
        dense = [self.design.blocks[group].dense for group in self.groups]
        return np.concatenate([np.zeros((0, self.design.n_cells), np.float32), *dense])

    def _in_parts(self) -> Iterator[tuple[slice, NDArray[np.floating[Any]]]]:
        """Yield the features of some cells after the other, in the precision of sums."""
        if self.precision is np.float32:
            yield slice(None), self._features
            return
        for _, cells in self.design.parts:
            part = self._memory(cells, np.float64)
            part[:] = self._features[:, cells]
            yield cells, part

    def _memory(self, cells: slice, precision: Precision) -> NDArray[np.floating[Any]]:
        """Return memory for the features of some cells, the same for all: new memory costs more than the products."""
        if precision not in self._memories:
            largest = max(cells.stop - cells.start for _, cells in self.design.parts)
            self._memories[precision] = np.empty(len(self._at) * largest, precision)
        number = cells.stop - cells.start
        return self._memories[precision][: len(self._at) * number].reshape(len(self._at), number)

    def logits(self, coefficients: Floats) -> NDArray[np.floating[Any]]:
        """Return what the columns add up to, `[cell]`."""
        logits = np.empty(self.design.n_cells, self.precision)
        of_features = coefficients[self._at].astype(self.precision)
        for cells, features in self._in_parts():
            logits[cells] = of_features @ features
        for part, codes in self._coded:
            of_codes = np.append(0.0, coefficients[part]).astype(self.precision)
            np.add(logits, of_codes[codes], out=logits)
        return logits

    def sums(self, values: NDArray[np.floating[Any]]) -> Floats:
        """Return the sum over cells of each column times a value, `[column]`."""
        sums = np.zeros(len(self.ridge))
        of_features = np.zeros(len(self._at))
        values = values.astype(self.precision, copy=False)
        for cells, features in self._in_parts():
            of_features += np.dot(features, values[cells])
        sums[self._at] = of_features
        for part, codes in self._coded:
            sums[part] = _by_code(codes, values, part)
        return sums

    def moments(self, weights: NDArray[np.floating[Any]]) -> tuple[Floats, Floats]:
        """Return weighted sums over the cells of each row, `[row, column]`, and weighted products, `[column, column]`.

        Both are computed in single precision, which second derivatives need no more than.
        """
        design, at, width = self.design, self._at, len(self.ridge)
        sums, products = np.zeros((len(design.starts), width)), np.zeros((width, width))
        single = weights.astype(np.float32, copy=False)
        of_features = np.zeros((len(at), len(at)))
        for rows, cells in design.parts:
            features = self._features[:, cells]
            weighted = np.multiply(features, single[cells], out=self._memory(cells, np.float32))
            sums[rows, at] = np.add.reduceat(weighted, design.starts[rows] - cells.start, axis=1).T
            of_features += weighted @ features.T
        products[np.ix_(at, at)] = of_features
        for number, (part, codes) in enumerate(self._coded):
            size = part.stop - part.start + 1
            in_rows = design.row_of * size + codes
            sums[:, part] = np.bincount(in_rows, weights=weights, minlength=len(design.starts) * size).reshape(
                -1, size
            )[:, 1:]
            diagonal = np.arange(part.start, part.stop)
            products[diagonal, diagonal] = _by_code(codes, weights, part)
            coded = np.flatnonzero(codes)
            of_coded, weights_of_coded = codes[coded], single[coded]
            for column, feature in zip(at, self._features, strict=True):
                crossed = _by_code(of_coded, feature[coded] * weights_of_coded, part)
                products[column, part] = products[part, column] = crossed
            for other, more in self._coded[:number]:
                both = (other.stop - other.start + 1) * size
                counts = np.bincount(more * size + codes, weights=weights, minlength=both)
                of_pairs = counts.reshape(-1, size)[1:, 1:]
                products[other, part], products[part, other] = of_pairs, of_pairs.T
        return sums, products


def _by_code(codes: Integers, values: NDArray[np.floating[Any]], part: slice) -> Floats:
    sums = np.bincount(codes, weights=values, minlength=part.stop - part.start + 1)
    return sums[1:].astype(np.float64, copy=False)
