"""The parts of one layer's scores: queries, keys, scaling, position bias, soft-cap and mask."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.errors import AttentionError


@dataclass(frozen=True, kw_only=True, eq=False)
class NeuronLayer:
    """The parts from which a layer's weights are computed.

    score = scaling (q . k) + bias; with a soft-cap c, c tanh(score / c); a hidden key has no weight; the weights are
    the softmax of the scores.

    Attributes:
        queries: queries after position encoding, float32 `[head, query, width]`.
        keys: keys after position encoding, float32 `[group, key, width]`.
        groups: key group that each head reads, `[head]`.
        scaling: factor of the product.
        bias: position bias, float32 `[head or 1, query, key]`; None for none.
        softcap: bound of the scores; None for none.
        visible: keys that a query may attend to, `[query, key]`; None for all.

    Raises:
        AttentionError: the shapes of the parts do not match.
    """

    queries: NDArray[np.float32]
    keys: NDArray[np.float32]
    groups: tuple[int, ...]
    scaling: float
    bias: NDArray[np.float32] | None = None
    softcap: float | None = None
    visible: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        heads, rows, width = self.queries.shape
        groups, columns, key_width = self.keys.shape
        bias = (1, rows, columns) if self.bias is None else self.bias.shape
        fits = (
            width == key_width
            and len(self.groups) == heads
            and all(0 <= group < groups for group in self.groups)
            and bias in ((1, rows, columns), (heads, rows, columns))
            and (self.visible is None or self.visible.shape == (rows, columns))
        )
        if not fits:
            raise AttentionError(
                f"queries {self.queries.shape}, keys {self.keys.shape}, bias {bias}, mask "
                f"{None if self.visible is None else self.visible.shape} and the groups of {len(self.groups)} heads do "
                "not fit; expected [head, query, width], [group, key, width], [head or 1, query, key], [query, key]"
            )

    @property
    def products(self) -> NDArray[np.float32]:
        """q . k, `[head, query, key]`."""
        products: NDArray[np.float32] = self.queries @ self.keys[list(self.groups)].swapaxes(1, 2)
        return products

    @property
    def scores(self) -> NDArray[np.float32]:
        """Scores before the mask, `[head, query, key]`."""
        scores = self.products * np.float32(self.scaling)
        if self.bias is not None:
            scores = scores + self.bias
        if self.softcap is not None:
            scores = np.float32(self.softcap) * np.tanh(scores / np.float32(self.softcap))
        return scores

    @property
    def weights(self) -> NDArray[np.float32]:
        """The softmax of the scores over the visible keys, `[head, query, key]`."""
        scores = self.scores
        if self.visible is not None:
            scores = np.where(self.visible, scores, np.float32(-np.inf))
        exponentials = np.exp(scores - scores.max(-1, keepdims=True))
        weights: NDArray[np.float32] = exponentials / exponentials.sum(-1, keepdims=True)
        return weights
