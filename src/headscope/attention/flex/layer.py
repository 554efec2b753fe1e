"""The inputs of flex attention for a layer: queries, keys, values, the mask, and the bias added to scores."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.attention.fused.block_parts import computed_in
from headscope.attention.fused.single_pass import why_not_fusible
from headscope.attention.model.learned_sink import sink_logits
from headscope.attention.model.tap import AttentionCall, bias_of, scaling_of

if TYPE_CHECKING:
    from torch.nn.attention.flex_attention import BlockMask

_EVERY = slice(None)


@dataclass(frozen=True, eq=False)
class FlexMask:
    """The keys that each row sees; layers of a batch that share the model's mask share this object.

    Attributes:
        visible: `[batch or 1, row, key]` bool; None if nothing is hidden.
        blocks: blocks of scores that flex attention may skip; None if nothing is hidden.
    """

    visible: Bool[Tensor, "#batch row key"] | None
    blocks: "BlockMask | None"


@dataclass(frozen=True, kw_only=True, eq=False)
class FlexLayer:
    """A layer in the precision of the computation.

    Attributes:
        query: `[batch, head, row, width]`.
        key: `[batch, group, key, width]`; consecutive heads share a group.
        value: `[batch, group, key, value width]`.
        scaling: factor of the scores.
        mask: keys that each row sees.
        bias: position bias added to scores, linear in the key's position, `[batch, head, row, key]`; None for none.
        sink: logits of a learned sink, `[batch, head, row]`; None for none.
    """

    query: Float[Tensor, "batch head row width"]
    key: Float[Tensor, "batch group key width"]
    value: Float[Tensor, "batch group key value_width"]
    scaling: float
    mask: FlexMask
    bias: Float[Tensor, "batch head row key"] | None = None
    sink: Float[Tensor, "batch head row"] | None = None

    @property
    def shared(self) -> int:
        """Number of heads that share a group's keys."""
        return self.query.shape[1] // self.key.shape[1]


def flex_layer(call: AttentionCall, mask: FlexMask) -> FlexLayer:
    """Return the layer of a call; half precision is widened to float32, as on the fused path.

    Args:
        call: call of the attention function.
        mask: mask made from the call's mask.
    """
    dtype = computed_in(call.query.dtype)
    batch, heads, rows, _ = call.query.shape
    bias, sink = bias_of(call, _EVERY), sink_logits(call)
    return FlexLayer(
        query=call.query.to(dtype),
        key=call.key.to(dtype),
        value=call.value.to(dtype),
        scaling=scaling_of(call),
        mask=mask,
        bias=None if bias is None else bias.to(dtype).expand(batch, heads, rows, call.key.shape[2]),
        sink=None if sink is None else sink.to(dtype).expand(batch, heads, rows),
    )


def flex_mask(mask: Tensor | None, *, rows: int) -> FlexMask | None:
    """Read a model's mask; return None if it does more than hide keys.

    Args:
        mask: additive mask, `[batch or 1, 1, row or 1, key]`, or None if nothing is hidden.
        rows: number of rows of the layer.
    """
    if mask is None:
        return FlexMask(None, None)
    allowed = mask > torch.finfo(mask.dtype).min / 2
    if not bool((~allowed | (mask == 0)).all()):
        return None
    visible = allowed[:, 0].expand(-1, rows, -1)
    return FlexMask(visible, visible_blocks(visible))


def visible_blocks(visible: Bool[Tensor, "#batch row key"]) -> "BlockMask":
    """Return the blocks of scores that have a visible key, for flex attention.

    Args:
        visible: `[batch or 1, row, key]`; a mask that is the same for the whole batch has a first axis of 1.
    """
    from torch.nn.attention.flex_attention import create_block_mask

    batch, rows, keys = visible.shape
    return create_block_mask(
        lambda item, head, row, key: visible[item * (batch > 1), row, key],
        batch,
        None,
        rows,
        keys,
        device=visible.device,
    )


def why_not_flex(call: AttentionCall) -> str | None:
    """Return the reason why flex attention cannot compute a call's statistics, as the end of a sentence; else None.

    Args:
        call: call of the attention function.
    """
    if call.options.get("softcap") is not None:
        return "scores are capped, and the sum of weights times scores is then no product with summed keys"
    if (reason := why_not_fusible(call)) is not None:
        return reason
    bias = bias_of(call, _EVERY)
    if bias is not None and not _linear(bias):
        return "the position bias is not linear in the key's position, and the entropy needs its mean under the weights"
    return None


def _linear(bias: Tensor) -> bool:
    """Return True if a bias `[..., key]` rises by a constant from key to key, as ALiBi's does, up to rounding."""
    if bias.shape[-1] < 3:
        return True
    exact = bias.double()
    rounding = 4 * torch.finfo(bias.dtype).eps * exact.abs().amax()
    return bool(exact.diff(n=2, dim=-1).abs().amax() <= rounding)
