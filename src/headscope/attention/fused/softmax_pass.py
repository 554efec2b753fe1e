"""Weights and outputs only, block by block: without row statistics a plain softmax is enough."""

import torch

from headscope.attention.fused.block_parts import WidenedParts
from headscope.attention.fused.block_products import emptied, store
from headscope.attention.fused.fused_layer import FusedLayer
from headscope.attention.fused.fused_result import FusedResult


def softmax_pass(layer: FusedLayer) -> FusedResult:
    """Compute the weights and outputs of a layer, which has memory for the weights."""
    assert layer.weights is not None
    values = WidenedParts(layer.value)
    for block in layer.blocks:
        s = layer.scores_of(block)
        part = torch.softmax(s, dim=-1)
        if layer.logits is not None and layer.sunk is not None:
            rows_of_block = block.items, block.heads, block.rows
            apart = layer.logits[rows_of_block] - torch.logsumexp(s, dim=-1)
            layer.sunk[rows_of_block] = torch.sigmoid(apart)
            part *= torch.sigmoid(-apart)[..., None]
        emptied(layer.weights, block).copy_(part)
        store(
            layer.output.transpose(1, 2)[block.items, block.heads, block.rows],
            part,
            values(block.items, block.groups, block.keys),
        )
    return FusedResult(output=layer.output, statistics=None, weights=layer.weights, sink=layer.sunk)
