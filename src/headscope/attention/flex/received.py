"""How much attention each key receives: the sum of its weights over rows, by a product with the sides exchanged."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.attention.flex.layer import FlexLayer, visible_blocks
from headscope.attention.flex.product import flex_product


def received_attention(
    layer: FlexLayer, lse: Float[Tensor, "batch head row"], counted: Bool[Tensor, "batch row"]
) -> Float[Tensor, "batch head key"]:
    """Sum each key's weights over the rows that count.

    A weight is exp(s_ij - L_i) with L_i the row's log-sum-exp. With keys in the place of queries and -L_i added to all
    scores of row i, the log-sum-exp of what was column j is ln sum_i a_ij. Heads that share keys are summed each by
    itself; `sum` over the heads of a group gives what its keys receive.

    Args:
        layer: whose weights they are.
        lse: of each row, with a learned sink's logit in it where there is one.
        counted: which rows count.
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
