"""The vectors of heads: queries, keys and outputs, from the model's own code."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from headscope.attention.model.tap import AttentionCall


@dataclass(frozen=True, kw_only=True)
class HeadVectors:
    """Queries, keys and outputs of some rows of a layer: views of the model's tensors, which must not be written to.

    Attributes:
        queries: queries as they are multiplied by keys, after position encoding, `[batch, head, row, width]`.
        keys: keys of the whole axis after position encoding, `[batch, group, key, width]`; consecutive heads share a
            group.
        outputs: `sum_j a_ij v_j`, before the output projection, `[batch, head, row, value width]`.
    """

    queries: Tensor = field(repr=False)
    keys: Tensor = field(repr=False)
    outputs: Tensor = field(repr=False)


def vectors_of(call: AttentionCall, *, rows: slice, output: Tensor) -> HeadVectors:
    """Return the vectors of some rows of a call, without a copy.

    Args:
        call: call of the attention function.
        rows: slice of the query axis.
        output: output of the attention function for these rows, `[batch, row, head, value width]`.
    """
    return HeadVectors(queries=call.query[:, :, rows], keys=call.key, outputs=output.transpose(1, 2))


def join_vectors(parts: Sequence[HeadVectors | None]) -> HeadVectors | None:
    """Join the vectors of the tiles of one layer, in the order of their rows; None if a tile has none."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return HeadVectors(
        queries=torch.cat([part.queries for part in known], dim=2),
        keys=known[0].keys,
        outputs=torch.cat([part.outputs for part in known], dim=2),
    )
