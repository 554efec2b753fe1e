"""The calls of a model's attention that the fused path computes."""

from torch import Tensor

from headscope.attention.model.learned_sink import known_sink
from headscope.attention.model.tap import AttentionCall


def fusible(call: AttentionCall) -> bool:
    """Return True if a call is plain scaled attention."""
    return why_not_fusible(call) is None


def why_not_fusible(call: AttentionCall) -> str | None:
    """Return the difference of a call from plain scaled attention, as the end of a sentence; None if there is none."""
    mask, bias, heads = call.mask, call.options.get("position_bias"), call.query.shape[1]
    if mask is not None and not (mask.is_floating_point() and mask.ndim == 4 and mask.shape[1] == 1):
        return "the mask is not added to scores, the same for all heads"
    if bias is not None and not (isinstance(bias, Tensor) and bias.ndim == 4 and bias.shape[1] in (1, heads)):
        return "the position bias is not added to scores"
    if call.options.get("softcap") is not None:
        return "scores are capped"
    if not known_sink(call):
        return "its learned sink is neither one a head nor one a row"
    return None
