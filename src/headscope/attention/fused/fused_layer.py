"""A layer that is computed block by block: its sizes, its blocks, and its results."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from headscope.attention.fused.block_products import BlockScores
from headscope.attention.fused.blocks import Block


@dataclass(frozen=True)
class FusedResult:
    """The result of a fused call.

    Attributes:
        output: `[batch, row, head, width]`, as attention functions return it.
        statistics: row statistics, `[batch, head, row, ROW_STATISTICS]`, or None where they were not requested.
        weights: `[batch, head, row, key]`, or None where they were not requested.
        norm_statistics: like `statistics`, of the norm-weighted attention, where the norms of the keys were passed.
        sink: the weight of the learned sink, `[batch, head, row]`, or None where there is none.
    """

    output: Tensor
    statistics: Tensor | None
    weights: Tensor | None
    norm_statistics: Tensor | None = None
    sink: Tensor | None = None


@dataclass(frozen=True, eq=False)
class FusedLayer:
    """A layer cut into blocks, and the memory of its results.

    Attributes:
        blocks: all blocks of the layer.
        scores_of: computes the scores of a block.
        value: `[batch, group, key, width]`.
        output: `[batch, row, head, width]`, to be filled.
        weights: `[batch, head, row, key]`, to be filled, or None where they are not requested.
        logits: logits of a learned sink, `[batch, head, row]`, or None if there is none.
        sunk: weight of the sink, `[batch, head, row]`, to be filled, or None if there is none.
    """

    blocks: Sequence[Block]
    scores_of: BlockScores
    value: Tensor
    output: Tensor
    weights: Tensor | None
    logits: Tensor | None
    sunk: Tensor | None
