"""What heads meet with and make of it: queries, keys and outputs, as the model's own code made them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from headscope.attention.model.tap import AttentionCall


@dataclass(frozen=True, kw_only=True)
class HeadVectors:
    """Queries, keys and outputs of some rows of a layer: views of what the model holds, so nobody writes to them.

    Attributes:
        queries: as they meet the keys, after positions were turned into them, `[batch, head, row, width]`.
        keys: the same of the whole axis, `[batch, group, key, width]`; consecutive heads share a group.
        outputs: `sum_j a_ij v_j`, before the output projection, `[batch, head, row, value width]`.
    """

    queries: Tensor = field(repr=False)
    keys: Tensor = field(repr=False)
    outputs: Tensor = field(repr=False)


def vectors_of(call: AttentionCall, *, rows: slice, output: Tensor) -> HeadVectors:
    """Return the vectors of some rows of a call, without a copy.

    Args:
        call: of the attention function.
        rows: on the query axis.
        output: what the attention function answers for these rows, `[batch, row, head, value width]`.
    """
    return HeadVectors(queries=call.query[:, :, rows], keys=call.key, outputs=output.transpose(1, 2))


def join_vectors(parts: Sequence[HeadVectors | None]) -> HeadVectors | None:
    """Join the vectors of the tiles of one layer, in the order of their rows; None where one of them has none."""
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return HeadVectors(
        queries=torch.cat([part.queries for part in known], dim=2),
        keys=known[0].keys,
        outputs=torch.cat([part.outputs for part in known], dim=2),
    )
