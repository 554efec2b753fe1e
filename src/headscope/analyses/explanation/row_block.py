"""Rows with the columns of their cells, the products of columns with coefficients, and softmaxes over the keys."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
"""Numbers of either precision: a fit keeps that of its rows."""
Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]
_HIDDEN = -1e30
_EXPONENT = 60.0
"""Exponents up to this size need no largest one subtracted: neither they nor their sums leave the range of float32."""


@dataclass(frozen=True, kw_only=True)
class Product:
    """Columns that are the products of each of some facts on the row and each of some factors of the cell.

    Attributes:
        columns: numbers of the columns; those of a fact follow one another.
        facts: numbers of the facts in `RowBlock.facts`.
        factors: numbers of the factors in `RowBlock.features`.
    """

    columns: slice
    facts: slice
    factors: slice


@dataclass(frozen=True, kw_only=True, eq=False)
class RowBlock:
    """Rows of similar length with the keys that they see, padded to the longest.

    The columns of products are not stored: each is the product of a fact on the row and a factor of the cell. The
    factors are stored after the other columns.

    Attributes:
        features: columns and factors, `[row * key, column]`; 0 where a row is padded.
        visible: mask of the cells that count, `[row, key]`.
        rows: numbers of the rows in their sample, `[row]`.
        cells: numbers of the cells in their sample, `[row, key]`; 0 where a row is padded.
        facts: facts on the rows, `[row, fact]`.
        products: the columns that are products, which follow all others.
    """

    features: Floats
    visible: Flags
    rows: Integers
    cells: Integers
    facts: Floats
    products: Sequence[Product] = ()

    def only(self, rows: Integers) -> "RowBlock":
        """Select rows by their index in the block."""
        longest = self.visible.shape[1]
        features = self._by_row(self.features)[rows]
        others = {name: getattr(self, name)[rows] for name in ("visible", "rows", "cells", "facts")}
        return replace(self, features=features.reshape(len(rows) * longest, features.shape[-1]), **others)

    @classmethod
    def joined(cls, blocks: Sequence["RowBlock"]) -> "RowBlock":
        """Join the rows of several blocks into one block, padded to the longest."""
        longest = max(block.visible.shape[1] for block in blocks)

        def padded(values: NDArray[Any]) -> NDArray[Any]:
            return np.pad(values, [(0, 0), (0, longest - values.shape[1]), *[(0, 0)] * (values.ndim - 2)])

        features = [padded(block._by_row(block.features)) for block in blocks]
        joined = {name: np.concatenate([getattr(block, name) for block in blocks]) for name in ("rows", "facts")}
        for name in ("visible", "cells"):
            joined[name] = np.concatenate([padded(getattr(block, name)) for block in blocks])
        flat = np.concatenate(features).reshape(-1, features[0].shape[-1])
        return cls(features=flat, products=blocks[0].products, **joined)

    def logits(self, coefficients: Floats, columns: slice | None = None) -> Floats:
        """Multiply columns by coefficients, `[row * key, head]`.

        Args:
            coefficients: `[column, head]`.
            columns: columns, a part of which may be products; all if not given.
        """
        plain, products = self._parts(columns)
        n_plain, heads = plain.stop - plain.start, coefficients.shape[1]
        logits = self.features[:, plain] @ coefficients[:n_plain]
        if products:
            # The facts are the same in all cells of a row, so that each row has coefficients for its factors.
            factors = _hull(product.factors for product in products)
            of_rows = np.zeros((len(self.rows), factors.stop - factors.start, heads), logits.dtype)
            for product in products:
                n_factors = product.factors.stop - product.factors.start
                part = coefficients[n_plain:][_within(product.columns, products[0].columns.start)]
                of_product = self.facts[:, product.facts] @ part.reshape(-1, n_factors * heads)
                of_rows[:, _within(product.factors, factors.start)] += of_product.reshape(-1, n_factors, heads)
            logits += (self._by_row(self.features)[..., factors] @ of_rows).reshape(logits.shape)
        return logits

    def sums(self, values: Floats, columns: slice | None = None) -> Floats:
        """Sum columns over all cells, weighted by values, `[column, head]`.

        Args:
            values: `[row * key, head]` or `[row, key, head]`.
            columns: columns, a part of which may be products; all if not given.
        """
        plain, products = self._parts(columns)
        heads = values.shape[-1]
        sums = [self.features[:, plain].T @ values.reshape(-1, heads)]
        if products:
            factors = _hull(product.factors for product in products)
            of_rows = self._by_row(self.features)[..., factors].swapaxes(1, 2) @ self._by_row(values)
            for product in products:
                of_factors = of_rows[:, _within(product.factors, factors.start)]
                sums.append(np.tensordot(self.facts[:, product.facts], of_factors, (0, 0)).reshape(-1, heads))
        return np.concatenate(sums)

    def dense(self, columns: slice | None = None) -> Floats:
        """Return columns with the products multiplied out, `[row * key, column]`."""
        plain, products = self._parts(columns)
        parts = [self.features[:, plain]]
        for product in products:
            factors = self._by_row(self.features)[..., None, product.factors]
            values = self.facts[:, None, product.facts, None] * factors
            parts.append(values.reshape(len(self.features), product.columns.stop - product.columns.start))
        return np.concatenate(parts, axis=1) if products else parts[0]

    def _by_row(self, values: Floats) -> Floats:
        """Divide the cells by row, `[row, key, column]`."""
        return values.reshape(*self.visible.shape, values.shape[-1])

    def _parts(self, columns: slice | None) -> tuple[slice, Sequence[Product]]:
        """Divide columns into those that are stored, and the products, whole."""
        stored = self.products[0].columns.start if self.products else self.features.shape[1]
        if columns is None:
            return slice(0, stored), self.products
        products = [each for each in self.products if columns.start <= each.columns.start < columns.stop]
        return slice(min(columns.start, stored), min(columns.stop, stored)), products

    def targets(self, attention: Floats) -> Floats:
        """Return the attention of heads in this block, 0 in cells that do not count, `[row, key, head]`.

        Args:
            attention: `[head, cell]`.
        """
        values = np.moveaxis(attention[:, self.cells], 0, -1)
        return np.where(self.visible[..., None], values, 0.0).astype(self.features.dtype)

    def cross_entropy(self, target: Floats, logits: Floats) -> Floats:
        """Compute the cross entropy of each row's attention with a prediction, `[row, head]`.

        Args:
            target: attention, `[row, key, head]`.
            logits: `[row * key, head]`.
        """
        _, logs = self.probabilities(logits)
        return np.asarray(key_sums(target) * logs - np.einsum("rkh,rkh->rh", target, logits.reshape(target.shape)))

    def probabilities(self, logits: Floats, mass: Floats | None = None) -> tuple[Floats, Floats]:
        """Compute the softmax over the cells that count in each row, and the logarithm of its denominator.

        Args:
            logits: `[row * key, head]`.
            mass: sum of each row's softmax, `[row, head]`; 1 if not given.

        Returns:
            `[row, key, head]` and `[row, head]`; 0 in rows without cells that count.
        """
        values = logits.reshape(*self.visible.shape, logits.shape[-1])
        largest = logits.dtype.type(0)
        if max(-values.min(initial=0), values.max(initial=0)) > _EXPONENT:
            largest = np.where(self.visible[..., None], values, logits.dtype.type(_HIDDEN)).max(1)
            values = np.minimum(values - largest[:, None], 0)
        values = np.exp(values)
        if not self.visible.all():
            values *= self.visible[..., None].astype(values.dtype)
        sums = key_sums(values)
        some: Flags = self.visible.max(1)[:, None]
        sums = np.where(some, sums, 1)
        values *= (np.where(some, 1 if mass is None else mass, 0) / sums).astype(values.dtype)[:, None]
        return values, np.where(some, np.log(sums) + largest, 0.0).astype(values.dtype)


def key_sums(values: Floats) -> Floats:
    """Sum over the keys of each row, `[row, key, head]` -> `[row, head]`; as a matrix product, five times faster."""
    return np.asarray((np.ones((1, values.shape[1]), values.dtype) @ values)[:, 0])


def _hull(parts: Iterable[slice]) -> slice:
    """Return the smallest slice that contains all parts."""
    starts, stops = zip(*((part.start, part.stop) for part in parts), strict=True)
    return slice(min(starts), max(stops))


def _within(part: slice, start: int) -> slice:
    return slice(part.start - start, part.stop - start)
