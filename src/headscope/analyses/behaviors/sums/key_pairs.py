"""Pairs of a row and a key, such as earlier copies of a token, and sums of the weights at them."""

from dataclasses import dataclass

import torch
from torch import Tensor

# Number of weights gathered at a time: a text that repeats one token has a pair for every weight.
_GATHERED = 1 << 22


@dataclass(frozen=True)
class Shares:
    """Factors that turn weights into norm-weighted attention: `a_ij` times a factor of row i and one of key j.

    Attributes:
        rows: reciprocal of the row's sum `sum_j a_ij |f_j|`, `[batch, head, row]` float64; 0 where the sum is 0.
        keys: `|f_j|`, `[batch, head, key]` float64.
    """

    rows: Tensor
    keys: Tensor


@dataclass(frozen=True)
class Pairs:
    """Pairs of a row and a key, in ascending order: `item` of the batch, `row` from the tile's first, `key`."""

    item: Tensor
    row: Tensor
    key: Tensor

    def sums(self, weights: Tensor, shares: Shares | None = None) -> Tensor:
        """Sum weights over the pairs of each segment, `[1, batch, head]` float64; with shares, they come second.

        Args:
            weights: `[batch, head, row, key]`.
            shares: factors to sum norm-weighted attention as well; the result is then `[2, batch, head]`.
        """
        out = weights.new_zeros((1 if shares is None else 2, *weights.shape[:2]), dtype=torch.float64)
        step = max(1, _GATHERED // weights.shape[1])
        for first in range(0, len(self.item), step):
            item, row, key = (indices[first : first + step] for indices in (self.item, self.row, self.key))
            at_pairs = weights[item, :, row, key].double()
            out[0].index_add_(0, item, at_pairs)
            if shares is not None:
                out[1].index_add_(0, item, at_pairs * shares.rows[item, :, row] * shares.keys[item, :, key])
        return out

    def number(self, visible: Tensor) -> Tensor:
        """Count the pairs of each row whose key is visible, `[batch, row]` float64."""
        out = torch.zeros(visible.shape[:2], dtype=torch.float64, device=visible.device)
        visible_pairs = visible[self.item, self.row, self.key].double()
        return out.index_put_((self.item, self.row), visible_pairs, accumulate=True)
