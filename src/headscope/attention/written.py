"""What a head writes of a key, and of a row: how long the vectors are that it adds to the stream (Kobayashi 2020).

A head's write of key j is `f_j = v_j W_O`, with its rows of the output projection; a row's output is the sum of
`a_ij f_j`. A weight on a key whose f is short moves nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Float, Float64, Int
from torch import Tensor

from headscope.attention.row_statistics import row_statistics


@dataclass(frozen=True, kw_only=True)
class Written:
    """What some rows of a layer write, as lengths.

    Attributes:
        keys: `|f_j|` of the whole axis, `[batch, head, key]`.
        outputs: `|sum_j a_ij f_j|`, `[batch, head, row]`.
        stream: the length of what the layer reads at each row, `[batch, row]`; None where it is not known.
        given_statistics: row statistics of `a_ij |f_j|`, where the pass made them along with its softmax.
    """

    keys: Tensor = field(repr=False)
    outputs: Tensor = field(repr=False)
    stream: Tensor | None = field(default=None, repr=False)
    given_statistics: Tensor | None = field(default=None, repr=False)


def key_norms(
    value: Float[Tensor, "batch group key width"], factor: Float[Tensor, "head width rank"]
) -> Float[Tensor, "batch head key"]:
    """Return `|f_j|` of each head and key.

    Args:
        value: as the model's own code made it; consecutive heads share a group.
        factor: of `Projections.factors`.
    """
    shared = factor.shape[0] // value.shape[1]
    by_head = value if shared == 1 else value.repeat_interleave(shared, dim=1)
    lengths: Tensor = torch.linalg.vector_norm(by_head.to(factor.dtype) @ factor, dim=-1)
    return lengths


def output_norms(
    output: Float[Tensor, "batch row head width"], factor: Float[Tensor, "head width rank"]
) -> Float[Tensor, "batch head row"]:
    """Return `|sum_j a_ij f_j|` of each head and row, from the attention's output as the model gets it."""
    lengths: Tensor = torch.linalg.vector_norm(output.to(factor.dtype).transpose(1, 2) @ factor, dim=-1)
    return lengths


def norm_shares(
    weights: Float[Tensor, "batch head row key"], norms: Float[Tensor, "batch head key"]
) -> Float64[Tensor, "batch head row key"]:
    """Return `a_ij |f_j|`, each row divided by its sum; NaN in rows that write nothing at all."""
    written = weights.double() * norms.double()[:, :, None, :]
    total = written.sum(-1, keepdim=True)
    return written / torch.where(total > 0, total, torch.nan)


def norm_row_statistics(
    weights: Float[Tensor, "batch head row key"],
    norms: Float[Tensor, "batch head key"],
    *,
    key_classes: Int[Tensor, "batch key"],
    start: int = 0,
    square: bool = True,
) -> Float64[Tensor, "batch head row quantity"]:
    """Compute the statistics of every row with `norm_shares` in place of the weights.

    Args and result are those of `row_statistics`; a row that writes nothing is NaN throughout.
    """
    shares = norm_shares(weights, norms)
    found = row_statistics(shares, key_classes=key_classes, start=start, square=square)
    return found.masked_fill(shares[..., :1].isnan(), torch.nan)


def join_written(parts: Sequence[Written | None]) -> Written | None:
    """Join what the tiles of one layer write, in the order of their rows; None where one of them does not know."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    streams = [part.stream for part in known if part.stream is not None]
    statistics = [part.given_statistics for part in known if part.given_statistics is not None]
    return Written(
        keys=known[0].keys,
        outputs=torch.cat([part.outputs for part in known], dim=2),
        stream=torch.cat(streams, dim=1) if len(streams) == len(known) else None,
        given_statistics=torch.cat(statistics, dim=2) if len(statistics) == len(known) else None,
    )
