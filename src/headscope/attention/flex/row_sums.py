"""Row statistics of a layer from a few flex products: the scores are recomputed for each, and never stored.

With p the weights, s the scores and L their log-sum-exp: a share is a sum of p over the keys of a class, a column; the
largest weight is exp(max s - L); and the entropy -sum p ln p is L - sum p s, where s is scaling q k' plus a position
bias, so that a product with the keys as values gives it: sum p s = scaling q (sum p k)' + ... No weight is needed.
"""

from dataclasses import dataclass
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.attention.flex.layer import FlexLayer
from headscope.attention.flex.product import flex_product
from headscope.attention.row_quantities import BY_CLASS, CLASSES, OFFSETS, ROW_STATISTICS, RowQuantity
from headscope.attention.row_statistics import class_indicators
from headscope.encoding.segment import SegmentInfo


@dataclass(frozen=True, eq=False)
class FlexRows:
    """The output and statistics of the rows of a layer.

    Attributes:
        output: weights times values, `[batch, head, row, width]`.
        statistics: `[batch, head, row, ROW_STATISTICS]`; 0 in rows that see nothing.
        lse: ln sum exp of the scores, including the sink's, `[batch, head, row]`; 0 in rows that see nothing.
        sink: weight of the learned sink, `[batch, head, row]`; None if there is none.
    """

    output: Float[Tensor, "batch head row width"]
    statistics: Float[Tensor, "batch head row quantity"]
    lse: Float[Tensor, "batch head row"]
    sink: Float[Tensor, "batch head row"] | None


def flex_rows(
    layer: FlexLayer, *, keys: SegmentInfo, square: bool, norms: Float[Tensor, "batch head key"] | None = None
) -> FlexRows:
    """Compute a layer's output and row statistics, in two products.

    Args:
        layer: the layer; without the sink if `norms` are given, because a sink writes nothing.
        keys: the attended tokens, for their classes.
        square: whether queries and keys are the same tokens.
        norms: norm of each head's output per key: the weights are then `a_ij |f_j|`, each row divided by
            its sum, which is a softmax of the scores plus ln |f_j|. All statistics of rows that write nothing are NaN.
    """
    of_key = None if norms is None else torch.log(norms.to(layer.query.dtype))
    columns = _Columns(layer, keys, of_key)
    product = partial(
        flex_product,
        layer.query,
        layer.key,
        scaling=layer.scaling,
        blocks=layer.mask.blocks,
        bias=layer.bias,
        of_key=of_key,
    )
    # Wide and narrow columns are separate products, because a kernel rounds the width up to a power of two.
    wide, narrow = product(torch.cat([layer.value, layer.key], dim=-1)), product(columns.narrow).sums
    lse, sees = wide.lse, wide.lse > -torch.inf
    lse = torch.where(sees, lse, 0.0)
    left, sink = None, None  # weight that a sink leaves to the keys
    if layer.sink is not None:
        total = torch.logaddexp(wide.lse, layer.sink)
        left, sink, lse = torch.exp(wide.lse - total), torch.exp(layer.sink - total), total
    width = layer.value.shape[-1]
    output, mean_key = wide.sums[..., :width], wide.sums[..., width:]
    score = layer.scaling * (layer.query * mean_key).sum(-1) + columns.mean_addition(narrow)
    largest = torch.exp(wide.largest - lse)
    shares = narrow[..., : len(CLASSES)]
    if left is not None and sink is not None and layer.sink is not None:
        output, shares = output * left[..., None], shares * left[..., None]
        score, largest = score * left + sink * layer.sink, torch.maximum(largest, sink)
    statistics = score.new_zeros((*lse.shape, len(ROW_STATISTICS)))
    statistics[..., BY_CLASS] = shares
    statistics[..., RowQuantity.ENTROPY] = lse - score
    statistics[..., RowQuantity.MAX_WEIGHT] = largest
    if sink is not None:
        statistics[..., RowQuantity.SINK_LOGIT] = sink
    for quantity in OFFSETS:
        statistics[..., quantity] = _at_offsets(layer, lse, OFFSETS[quantity], of_key) if square else torch.nan
    empty = 0.0 if norms is None else torch.nan
    statistics = statistics.where(sees[..., None] | torch.tensor(layer.sink is not None), empty)
    return FlexRows(output, statistics, lse, sink)


class _Columns:
    """The narrow columns: classes of keys, then the columns for the mean of the terms added to the scores."""

    def __init__(self, layer: FlexLayer, keys: SegmentInfo, of_key: Tensor | None) -> None:
        self.layer = layer
        batch, groups, number = layer.key.shape[:3]
        dtype = layer.query.dtype
        of_class = class_indicators(keys.classes, dtype=dtype)[:, None].expand(batch, groups, number, -1)
        parts = [of_class]
        self.position, self.of_heads = None, None
        if layer.bias is not None:
            at = torch.arange(number, device=keys.classes.device, dtype=dtype)
            self.position = len(CLASSES)
            parts.append(at[None, None, :, None].expand(batch, groups, number, 1))
        if of_key is not None:
            # One column for each head of a group: its heads share keys, but not the norms of their outputs.
            self.of_heads = sum(each.shape[-1] for each in parts)
            finite = of_key.masked_fill(of_key == -torch.inf, 0.0)
            parts.append(finite.view(batch, groups, layer.shared, number).transpose(2, 3))
        self.narrow = torch.cat(parts, dim=-1)

    def mean_addition(self, sums: Tensor) -> Tensor:
        """Return the mean under the weights of the terms added to the scores, `[batch, head, row]`."""
        mean, bias = sums.new_zeros(sums.shape[:-1]), self.layer.bias
        if bias is not None and self.position is not None:
            slope = bias[..., -1] - bias[..., 0]
            mean = mean + bias[..., 0] + slope / max(1, bias.shape[-1] - 1) * sums[..., self.position]
        if self.of_heads is not None:
            heads, shared = sums.shape[1], self.layer.shared
            column = self.of_heads + torch.arange(heads, device=sums.device) % shared
            mean = mean + sums.gather(3, column[None, :, None, None].expand(*sums.shape[:3], 1))[..., 0]
        return mean


def _at_offsets(
    layer: FlexLayer, lse: Tensor, offsets: tuple[int, ...], of_key: Tensor | None
) -> Float[Tensor, "batch head row"]:
    """Return the summed weights on the keys at some offsets from each row; keys outside of the input count as 0."""
    weights = torch.zeros_like(lse)
    rows, number = lse.shape[2], layer.key.shape[2]
    for offset in offsets:
        first, last = max(0, -offset), min(rows, number - offset)
        if last <= first:
            continue
        at, to = slice(first, last), slice(first + offset, last + offset)
        query = layer.query[:, :, at].reshape(len(lse), -1, layer.shared, last - first, layer.query.shape[3])
        score = layer.scaling * (query * layer.key[:, :, None, to]).sum(-1).flatten(1, 2)
        if layer.bias is not None:
            score = score + layer.bias[:, :, at, to].diagonal(0, 2, 3)
        if of_key is not None:
            score = score + of_key[:, :, to]
        weight = torch.exp(score - lse[:, :, at])
        if layer.mask.visible is not None:
            weight = weight * layer.mask.visible[:, at, to].diagonal(0, 1, 2)[:, None]
        weights[:, :, at] += weight
    return weights
