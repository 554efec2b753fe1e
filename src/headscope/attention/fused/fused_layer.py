"""A layer that is computed block by block: its sizes, its blocks, and the results that each algorithm fills."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from headscope.attention.fused.block_products import BlockScores
from headscope.attention.fused.blocks import Block


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
