"""Queries and keys of one call of the tap, with everything needed to compute its weights from them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from headscope.attention.model.score_parts import NeuronLayer
from headscope.attention.model.tap import AttentionCall, scaling_of
from headscope.models.anatomy import CallSite

# Largest accepted difference between the softmax of the displayed scores and the weights that the model computed.
_TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-4}
_HALF_TOLERANCE = 0.05

DIFFERENT = (
    "The queries and keys of this model do not give its weights by scaling, position bias, soft-cap and softmax alone, "
    "so the neuron view would show sums that are not true."
)

WITH_SINK = (
    "This model's heads have a learned sink, a logit without a token, which the neuron view has no row for; the other "
    "views show it as the last key."
)


def neuron_layer(call: AttentionCall, site: CallSite, weights: Tensor) -> NeuronLayer | None:
    """Return the parts of one call's weights, or None if they do not reproduce the weights.

    Args:
        call: a call on a batch of one input without padding.
        site: call site, with the key/value group of each head.
        weights: weights computed by the model's own function, `[1, head, query, key]`.
    """
    rows, columns = weights.shape[2:]
    bias = call.options.get("position_bias")
    added = bias[0].float() if isinstance(bias, Tensor) and bias.any() else None
    visible = None
    if call.mask is not None:
        hidden, more = _split(call.mask[0])
        visible = None if not hidden.any() else _array(~hidden[0].expand(rows, columns))
        if more.any():
            added = more if added is None else added + more
    softcap = call.options.get("softcap")
    layer = NeuronLayer(
        queries=_array(call.query[0].float()),
        keys=_array(call.key[0].float()),
        groups=site.groups,
        scaling=scaling_of(call),
        bias=None if added is None else _array(added.expand(added.shape[0], rows, columns)),
        softcap=None if softcap is None else float(softcap),
        visible=visible,
    )
    off = float(np.abs(layer.weights - _array(weights[0].float())).max(initial=0.0))
    return layer if off <= _TOLERANCE.get(call.query.dtype, _HALF_TOLERANCE) else None


def _split(mask: Tensor) -> tuple[Tensor, Tensor]:
    """Split a mask `[1 or head, query or 1, key]` into hidden positions and the bias added to the other scores."""
    if mask.dtype == torch.bool:
        return ~mask, torch.zeros_like(mask, dtype=torch.float32)
    hidden = mask <= torch.finfo(mask.dtype).min / 2
    return hidden, mask.float().masked_fill(hidden, 0.0)


def _array(tensor: Tensor) -> np.ndarray:
    return np.ascontiguousarray(tensor.detach().cpu().numpy())
