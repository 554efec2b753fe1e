"""The pull of each head of a layer on one input, and the share of each source in it.

For a row i with attention a_i, uniform attention u_i over the same keys and scores s_ij, the pull is
`P_i = sum_j (a_ij - u_i) s_ij`: how far the scores of attended keys lie above the mean score, in nats. The score is a
sum over pairs of sources, one of the query and one of the key, and so is the pull: summed over the key's sources it is
the account of the query, summed over the query's the account of the key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.analyses.why.parts import BIAS, Parts, Source, Sources
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import KindLayout

ALL, NON_SINK = KEYS = ("all", "non_sink")
"""The keys over which pulls are taken: all of them, or those that are neither the first token nor a separator."""
QUERY, KEY = SIDES = ("query", "key")
POSITION_BIAS = Source("position_bias")
ENCODER = Source("encoder")
_CONSTANT = (
    Source("token"),
    Source("position"),
    Source("segment"),
    BIAS,
    Source("output_bias"),
    POSITION_BIAS,
    ENCODER,
)


def sources_of(layout: Sequence[KindLayout]) -> Sources:
    """Return every source that a model of this layout can have, in a fixed order."""
    heads = [
        Source("head", part.kind, layer, head)
        for part in layout
        for layer in range(part.layers)
        for head in range(part.heads)
    ]
    # Layer -1: what is added to the stream before the first attention, as in models that mix kinds of layers.
    mlps = [Source("mlp", part.kind, layer) for part in layout for layer in range(part.layers)]
    return (*_CONSTANT, *heads, Source("mlp"), *mlps)


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The parts of the scores of one layer on one input.

    Attributes:
        queries: queries after position encoding, `[head, query, width]`.
        keys: keys after position encoding, `[group, key, width]`.
        query_parts: parts of the queries, `[source, 1, head, query, width]`.
        key_parts: parts of the keys, `[source, 1, group, key, width]`.
        scaling: factor of the products.
        bias: position bias, `[head or 1, query, key]`; None if there is none.
    """

    queries: Float[Tensor, "head query width"]
    keys: Float[Tensor, "group key width"]
    query_parts: Parts
    key_parts: Parts
    scaling: float
    bias: Float[Tensor, "bias query key"] | None = None

    @property
    def error(self) -> float:
        """The largest difference between a score and the sum of its parts, relative to the largest score."""
        exact = self.products(self.queries, self.keys)
        summed = self.products(self.query_parts.sum()[0], self.key_parts.sum()[0])
        return float((exact - summed).abs().max() / exact.abs().max().clamp(min=1e-30))

    def products(self, queries: Tensor, keys: Tensor) -> Float[Tensor, "head query key"]:
        """Return scaled products of queries and the keys of their group, without the position bias."""
        return self.scaling * queries @ by_head(keys, len(queries)).transpose(1, 2)


def by_head(keys: Tensor, heads: int) -> Tensor:
    """Return the keys that each head reads, `[..., head, key, width]`, from those of each group."""
    shared = heads // keys.shape[-3]
    return keys if shared == 1 else keys.repeat_interleave(shared, dim=-3)


@dataclass(frozen=True, kw_only=True)
class HeadPulls:
    """The pulls of the heads of one layer on one input, a mean over rows, in nats.

    Attributes:
        total: pull over all keys and off the sink, `[head, KEYS]`.
        accounts: part of each source, on the side of the query and of the key, `[head, KEYS, SIDES, source]`; on each
            side they sum to the pull.
        has_rows: whether some row has two visible keys, `[KEYS]`.
    """

    total: Float[Tensor, "head keys"]
    accounts: Float[Tensor, "head keys side source"]
    has_rows: tuple[bool, bool]


def tilts(
    weights: Float[Tensor, "head query key"], visible: Bool[Tensor, "query key"], classes: Tensor
) -> tuple[Float[Tensor, "keys head query key"], tuple[bool, bool]]:
    """Return `a - u` of each row, over all keys and off the sink, times the row's share in the mean over rows.

    Off the sink, attention and uniform attention are those over the other keys, and rows are weighted by the attention
    on these keys. Rows that see fewer than two such keys are left out.

    Args:
        weights: attention weights.
        visible: mask of the keys that each row may attend to.
        classes: `KeyClass` of each key.

    Returns:
        The weights of the scores, whose sum over rows and keys is the pull; and whether there was any row.
    """
    sink = torch.isin(classes, torch.tensor([KeyClass.CLS, KeyClass.SEP], dtype=classes.dtype, device=classes.device))
    out, has_rows = [], []
    for name in KEYS:
        counted = visible & ~sink if name == NON_SINK else visible
        counted = counted & (counted.sum(-1, keepdim=True) > 1)
        attention = torch.where(counted, weights, 0.0)
        mass = attention.sum(-1, keepdim=True)
        uniform = counted.to(weights) / counted.sum(-1, keepdim=True).clamp(min=1)
        used = counted.any(-1, keepdim=True)
        rows = mass if name == NON_SINK else used.expand_as(mass).to(weights)
        tilt = (attention / mass.clamp(min=1e-30) - uniform) * rows
        out.append(torch.where(counted, tilt, 0.0) / rows.sum(1, keepdim=True).clamp(min=1e-30))
        has_rows.append(bool(used.any()))
    return torch.stack(out), (has_rows[0], has_rows[1])


def head_pulls(
    scores: Scores,
    weights: Float[Tensor, "head query key"],
    visible: Bool[Tensor, "query key"],
    classes: Tensor,
    index: dict[Source, int],
) -> HeadPulls:
    """Return the pulls of the heads of one layer on one input, by source.

    Args:
        scores: parts of the layer's scores.
        weights: attention weights after the softmax.
        visible: mask of the keys that each row may attend to.
        classes: `KeyClass` of each key.
        index: position of each source in the result.
    """
    tilt, has_rows = tilts(weights, visible, classes)
    heads = len(scores.queries)
    # sum_j tilt_ij k_j and sum_i tilt_ij q_i: with these each account is one product with the stacked parts.
    read_keys = tilt @ by_head(scores.keys, heads)
    read_queries = tilt.transpose(2, 3) @ scores.queries
    groups = scores.keys.shape[0]
    by_group = read_queries.unflatten(1, (groups, heads // groups))
    accounts = tilt.new_zeros(heads, len(KEYS), len(SIDES), len(index), dtype=torch.float64)
    sides = (
        (0, scores.query_parts, lambda part: torch.einsum("chiw,xhiw->hxc", part, read_keys)),
        (1, scores.key_parts, lambda part: torch.einsum("cgjw,xgsjw->gsxc", part, by_group).flatten(0, 1)),
    )
    for side, parts, account in sides:
        for sources, block in parts.blocks.items():
            at = torch.tensor([index[source] for source in sources])
            accounts[:, :, side].index_add_(2, at, scores.scaling * account(block.tensor[:, 0]).double().cpu())
    if scores.bias is not None:
        accounts[..., index[POSITION_BIAS]] += (tilt * scores.bias).sum((2, 3)).T[:, :, None].double().cpu()
    return HeadPulls(total=accounts[:, :, 1].sum(-1), accounts=accounts, has_rows=has_rows)


def one_source(parts: Parts) -> Parts:
    """Return the parts with all sources except constants summed into the encoder's output, for cross attention."""
    constants = {sources: block for sources, block in parts.blocks.items() if set(sources) <= {BIAS}}
    others = Parts({sources: block for sources, block in parts.blocks.items() if sources not in constants})
    return Parts(constants).with_block((ENCODER,), lambda: others.sum()[None])
