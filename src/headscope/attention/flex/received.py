"""Attention that each key receives: the sum of its weights over rows, by a product with queries and keys swapped."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.attention.flex.layer import FlexLayer, visible_blocks
from headscope.attention.flex.product import flex_product


def received_attention(
    layer: FlexLayer, lse: Float[Tensor, "batch head row"], counted: Bool[Tensor, "batch row"]
) -> Float[Tensor, "batch head key"]:
    """Sum each key's weights over the rows that are counted.

    A weight is exp(s_ij - L_i), where L_i is the row's log-sum-exp. With keys as queries and -L_i added to all scores
    of row i, the log-sum-exp of the former column j is ln sum_i a_ij. Heads that share keys are summed separately;
    `sum` over the heads of a group gives the attention that its keys receive.

    Args:
        layer: layer of the weights.
        lse: log-sum-exp of each row, including a learned sink's logit if there is one.
        counted: rows that are counted.
    """
    visible = layer.mask.visible
    keys = layer.key.repeat_interleave(layer.shared, dim=1)
    of_row = (-lse).masked_fill(~counted[:, None], -torch.inf)
    product = flex_product(
        keys,
        layer.query,
        layer.query[..., :1],
        scaling=layer.scaling,
        blocks=None if visible is None else visible_blocks(visible.transpose(1, 2)),
        bias=None if layer.bias is None else layer.bias.transpose(2, 3),
        of_key=of_row,
    )
    return torch.exp(product.lse)
