"""Norms of the vectors that a head adds to the residual stream, per key and per row (Kobayashi et al. 2020).

From key j a head adds `a_ij f_j` with `f_j = v_j W_O`, where W_O are its rows of the output projection; at row i it
adds the sum of these. Weight on a key with a short f has no effect. If there is a gate before the projection or a norm
after it, f depends on the row, too: `f_ij = s_i (g_i * v_j) W`, with the norm's scale of that row frozen and its weight
in W.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float, Float64, Int
from torch import Tensor

from headscope.attention.row_statistics import row_statistics

# Maximum size of a gated array: a head's values, once for each of some rows.
_GATED = 1 << 22


@dataclass(frozen=True, kw_only=True)
class OutputNorms:
    """Norms of the vectors that a layer's heads add to the residual stream at some rows.

    The norm of the vector that row i gets from key j, `f_ij`, is `scale_i` times the norm of the key, or of the pair.

    Attributes:
        keys: `|v_j W|` of the whole axis, `[batch, head, key]`.
        outputs: `|sum_j a_ij f_ij|`, `[batch, head, row]`.
        stream: norm of the layer's input at each row, `[batch, row]`; None if it is not known, or if it is not known
            whether the outputs are added to it.
        scale: scale of each row, `[batch, head or 1, row]`; None if it is 1.
        pairs: `|(g_i * v_j) W|` instead of `keys` if a gate differs by channel, `[batch, head, row, key]`.
        given_statistics: row statistics of `a_ij |f_ij|`, if the pass computed them along with its softmax.
    """

    keys: Tensor = field(repr=False)
    outputs: Tensor = field(repr=False)
    stream: Tensor | None = field(default=None, repr=False)
    scale: Tensor | None = field(default=None, repr=False)
    pairs: Tensor | None = field(default=None, repr=False)
    given_statistics: Tensor | None = field(default=None, repr=False)

    @property
    def lengths(self) -> Tensor:
        """`|f_ij|` without its row's scale, which no share of a row depends on, `[batch, head, (row,) key]`."""
        return self.keys if self.pairs is None else self.pairs

    def over_rows(self, visible: Bool[Tensor, "batch row key"]) -> Float64[Tensor, "batch head key"]:
        """Sum `|f_ij|` over the rows that see each key."""
        factor_of_row = visible[:, None].double()
        if self.scale is not None:
            factor_of_row = factor_of_row * self.scale.double()[..., None]
        if self.pairs is not None:
            return torch.where(visible[:, None], self.pairs.double() * factor_of_row, 0.0).sum(2)
        return torch.where(visible.any(1)[:, None], self.keys.double() * factor_of_row.sum(2), 0.0)


def key_norms(
    value: Float[Tensor, "batch group key width"], factor: Float[Tensor, "head width rank"]
) -> Float[Tensor, "batch head key"]:
    """Return `|f_j|` of each head and key.

    Args:
        value: values from the model's own code; consecutive heads share a group.
        factor: factor of `Projection`.
    """
    return _lengths(value.transpose(0, 1), factor)


def output_norms(
    output: Float[Tensor, "batch row head width"], factor: Float[Tensor, "head width rank"]
) -> Float[Tensor, "batch head row"]:
    """Return `|sum_j a_ij f_j|` of each head and row, from the attention's output as the model gets it."""
    return _lengths(output.permute(2, 0, 1, 3), factor)


def _lengths(
    vectors: Float[Tensor, "group batch row width"], factor: Float[Tensor, "head width rank"]
) -> Float[Tensor, "batch head row"]:
    """Return the norms of each group's vectors multiplied by the factors of its heads."""
    groups, batch, rows, width = vectors.shape
    heads = factor.shape[0]
    # A group's heads are concatenated, so that vectors are neither repeated for them nor copied twice.
    of_group = factor.reshape(groups, -1, *factor.shape[1:]).transpose(1, 2).reshape(groups, width, -1)
    flat = vectors.to(factor.dtype, memory_format=torch.contiguous_format).reshape(groups, batch * rows, width)
    product = (flat @ of_group).view(groups, batch, rows, heads // groups, -1)
    lengths: Tensor = torch.linalg.vector_norm(product, dim=-1)
    return lengths.permute(1, 0, 3, 2).reshape(batch, heads, rows)


def pair_norms(
    value: Float[Tensor, "batch group key width"],
    gate: Float[Tensor, "batch row head width"],
    factor: Float[Tensor, "head width rank"],
) -> Float[Tensor, "batch head row key"]:
    """Return `|(g_i * v_j) W|` of each head, row and key, since a gate by channel changes `|v_j W|`.

    Args:
        value: values from the model's own code; consecutive heads share a group.
        gate: factors of each channel of a row's output.
        factor: factor of `Projection`.
    """
    batch, rows, heads, width = gate.shape
    shared, keys = heads // value.shape[1], value.shape[2]
    norms = factor.new_empty((batch, heads, rows, keys))
    step = max(1, _GATED // (batch * keys * width))
    for head in range(heads):
        values = value[:, head // shared, None].to(factor.dtype)
        for start in range(0, rows, step):
            gated = values * gate[:, start : start + step, head, None].to(factor.dtype)
            torch.linalg.vector_norm(gated @ factor[head], dim=-1, out=norms[:, head, start : start + step])
    return norms


def norm_shares(
    weights: Float[Tensor, "batch head row key"], norms: Float[Tensor, "batch head *row key"]
) -> Float64[Tensor, "batch head row key"]:
    """Return `a_ij |f_j|`, each row divided by its sum; NaN in rows with a sum of 0."""
    written = weights.double() * (norms if norms.ndim == 4 else norms[:, :, None]).double()
    total = written.sum(-1, keepdim=True)
    return written / torch.where(total > 0, total, torch.nan)


def norm_row_statistics(
    weights: Float[Tensor, "batch head row key"],
    norms: Float[Tensor, "batch head *row key"],
    *,
    key_classes: Int[Tensor, "batch key"],
    start: int = 0,
    square: bool = True,
) -> Float64[Tensor, "batch head row quantity"]:
    """Compute the statistics of every row with `norm_shares` in place of the weights.

    Arguments and result are those of `row_statistics`; `norms` are `OutputNorms.lengths`. All statistics of a row
    that writes nothing are NaN.
    """
    shares = norm_shares(weights, norms)
    statistics = row_statistics(shares, key_classes=key_classes, start=start, square=square)
    return statistics.masked_fill(shares[..., :1].isnan(), torch.nan)


def join_output_norms(parts: Sequence[OutputNorms | None]) -> OutputNorms | None:
    """Join the norms of the tiles of one layer, in the order of their rows; None if a tile has none."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return OutputNorms(
        keys=known[0].keys,
        outputs=torch.cat([part.outputs for part in known], dim=2),
        stream=joined([part.stream for part in known], dim=1),
        scale=joined([part.scale for part in known], dim=2),
        pairs=joined([part.pairs for part in known], dim=2),
        given_statistics=joined([part.given_statistics for part in known], dim=2),
    )


def joined(parts: Sequence[Tensor | None], *, dim: int) -> Tensor | None:
    """Join parts of the tiles of one layer along their rows; None if a tile has no part."""
    known = [part for part in parts if part is not None]
    return torch.cat(known, dim=dim) if len(known) == len(parts) else None
