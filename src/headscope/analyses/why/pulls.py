"""The pull of each head of a layer on one input, and the share of each source in it.

For a row i with attention a_i, uniform attention u_i over the same keys and scores s_ij, the pull is
`P_i = sum_j (a_ij - u_i) s_ij`: how far the scores of attended keys lie above the mean score, in nats. The score is a
sum over pairs of sources, one of the query and one of the key, and so is the pull: summed over the key's sources it is
the account of the query, summed over the query's the account of the key.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Float, Float64
from torch import Tensor

from headscope.analyses.why.parts import (
    BIAS,
    ENCODER,
    OUTPUT_BIAS,
    POSITION_BIAS,
    Parts,
    Source,
    Sources,
    Step,
    through_own_columns,
)
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import KindLayout

ALL, NON_SINK = KEYS = ("all", "non_sink")
"""The keys over which pulls are taken: all of them, or those that are neither the first token nor a separator."""
QUERY, KEY = SIDES = ("query", "key")
Columns = Sequence[Sequence[Tensor]]
"""For each projection, the columns of each group of heads."""
_STRETCH = 4096
"""Number of values of a part that are multiplied at a time."""
_NAMED_ONCE = (Source("token"), Source("position"), Source("segment"), BIAS, OUTPUT_BIAS, POSITION_BIAS, ENCODER)


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
    return (*_NAMED_ONCE, *heads, Source("mlp"), *mlps)


@dataclass(frozen=True, kw_only=True)
class Side:
    """The queries or keys of one layer on one input, as a linear function of what the layer reads.

    Attributes:
        vectors: queries `[head, token, width]` or keys `[group, token, width]`, after position encoding.
        image: the same, computed from the sum of the parts of `read`, with the graph of that function, without
            constants.
        probe: the sum of the parts of `read`, `[1, 1, token, model]`, to which the graph of `image` leads.
        steps: projections of `probe`, or of a linear function of it, at which the graph of `image` is cut; none if it
            leads to the probe.
        others: further parts of the vectors, such as the bias of the projection, `[source, 1, head, token, width]`.
        read: parts of what the layer reads, `[source, 1, token, model]`.
        columns: result of `own_columns`, which is the same for all inputs.
    """

    vectors: Tensor
    image: Tensor
    probe: Tensor
    steps: Sequence[Step]
    others: Parts
    read: Parts
    columns: Columns | None = None

    @property
    def summed(self) -> Tensor:
        """The sum of all parts of the vectors."""
        return self.image.detach() + (self.others.sum()[0] if self.others.blocks else 0)

    def led_back(self, factors: Float[Tensor, "many head token width"]) -> Tensor:
        """Return factors of the vectors of each head, led back through the linear function to what the layer reads.

        Their products with the parts of what the layer reads are those of the factors with the parts of the vectors, so
        no part is projected.

        Returns:
            A row of each factor, `[group * many * head of the group, token * model]`.
        """
        by_group = factors.reshape(len(factors), len(self.vectors), -1, *factors.shape[2:]).transpose(1, 2)
        return self._led_back(by_group.flatten(0, 1)).flatten(0, 1).flatten(1)

    def accounts(
        self, factors: Float[Tensor, "many head token width"], products: Float[Tensor, "source row"]
    ) -> Iterator[tuple[Sources, Tensor]]:
        """Yield the inner products of the parts of each source with factors of each head, `[source, many, head]`.

        Args:
            factors: the factors.
            products: products of the parts of `read` with the rows of `led_back`.
        """
        many, heads = factors.shape[:2]
        by_group = products.reshape(len(products), len(self.vectors), many, -1)
        yield self.read.sources, by_group.transpose(1, 2).flatten(2)
        for sources, block in self.others.blocks.items():
            tensor = by_head(block.tensor.expand(-1, 1, *self.vectors.shape)[:, 0], heads)
            yield sources, torch.einsum("chtw,mhtw->cmh", tensor, factors)

    def own_columns(self) -> Columns | None:
        """Return the columns of each projection that make the vectors of each group; None if groups share columns."""
        if not self.steps:
            return None
        some = torch.arange(1, 1 + self.vectors[0].numel()).to(self.vectors).view_as(self.vectors[0])
        found = self._gradients([step.out for step in self.steps], _apart(some.expand(1, *self.vectors.shape)))
        used = [None if each is None else each.flatten(1, -2).any(1) for each in found]
        if any(each is not None and (each.sum(0) > 1).any() for each in used):
            return None
        return [[] if each is None else [own.nonzero()[:, 0] for own in each] for each in used]

    def _led_back(self, factors: Float[Tensor, "many group token width"]) -> Tensor:
        """Return the gradient of the products of factors and vectors by the probe, `[group, many, 1, token, model]`."""
        many, groups = factors.shape[:2]
        # Groups with columns of their own in the projections are led back to these together.
        together = factors if self.columns is not None else _apart(factors)
        found = self._gradients([step.out for step in self.steps] or [self.probe], together)
        led_back = [each for each in found if each is not None]
        if self.steps:
            own: Sequence[Sequence[Tensor] | None] = self.columns or [None] * len(found)
            led_back = [
                _by_columns(end, step.weight, columns)
                for step, columns, end in zip(self.steps, own, found, strict=True)
                if end is not None
            ]
        summed = sum(led_back[1:], start=led_back[0])
        if self.steps and (read := self.steps[0].read) is not self.probe:
            (summed,) = torch.autograd.grad(read, [self.probe], summed, retain_graph=True, is_grads_batched=True)
        return summed.view(groups, many, *self.probe.shape[1:])

    def _gradients(self, ends: Sequence[Tensor], factors: Tensor) -> Sequence[Tensor | None]:
        return torch.autograd.grad(
            self.image, ends, factors, retain_graph=True, is_grads_batched=True, allow_unused=True
        )  # fmt: skip


def _apart(factors: Float[Tensor, "many group token width"]) -> Tensor:
    """Return the factors of each group in a copy of their own, `[group * many, group, token, width]`."""
    groups = factors.shape[1]
    apart = factors.new_zeros(groups, *factors.shape)
    for group in range(groups):
        apart[group, :, group] = factors[:, group]
    return apart.flatten(0, 1)


def _by_columns(values: Tensor, matrix: Tensor, columns: Sequence[Tensor] | None) -> Tensor:
    """Return the product of each group's columns of values with a matrix, `[group * many, ..., model]`.

    Without columns the values of each group stand apart.
    """
    if columns is None:
        return through_own_columns(values, matrix)
    out = values.new_empty(len(columns), *values.shape[:-1], matrix.shape[1])
    for own, product in zip(columns, out, strict=True):
        torch.matmul(values[..., own], matrix[own], out=product)
    return out.flatten(0, 1)


def _products(read: Parts, factors: Sequence[Tensor], tokens: torch.Size) -> Float[Tensor, "source row"]:
    """Return the inner products of the parts of each source with all factors.

    All are multiplied together, a stretch of tokens at a time, which stays in the cache.

    Args:
        read: parts of what a layer reads.
        factors: several results of `Side.led_back`.
        tokens: shape of one part.
    """
    blocks = [block.tensor.expand(-1, *tokens).flatten(1) for block in read.blocks.values()]
    total = factors[0].new_zeros(sum(map(len, blocks)), sum(map(len, factors)))
    for start in range(0, factors[0].shape[1], _STRETCH):
        stretch = slice(start, start + _STRETCH)
        some, others = (torch.cat([rows[:, stretch] for rows in each]) for each in (blocks, factors))
        total.addmm_(some, others.T)
    return total


@dataclass(frozen=True, kw_only=True)
class Scores:
    """The scores of one layer on one input: `scaling * q_i . k_j + bias_ij`.

    Attributes:
        queries: side of the attending tokens.
        keys: side of the attended tokens.
        scaling: factor of the products.
        bias: position bias, `[head or 1, query, key]`; None if there is none.
    """

    queries: Side
    keys: Side
    scaling: float
    bias: Float[Tensor, "bias query key"] | None = None

    @cached_property
    def exact(self) -> Tensor:
        """The scores without the position bias, `[head, query, key]`."""
        return self.products(self.queries.vectors, self.keys.vectors)

    @property
    def error(self) -> float:
        """The largest difference between a score and the sum of its parts, relative to the largest score."""
        return float((self.exact - self.products(self.queries.summed, self.keys.summed)).abs().max()) / self.largest

    @property
    def largest(self) -> float:
        """The largest score, in size."""
        return max(float(self.exact.abs().max()), 1e-30)

    def products(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return scaled products of queries and keys, `[head, query, key]`, without the position bias."""
        return self.scaling * queries @ by_head(keys, len(queries)).transpose(1, 2)


def by_head(keys: Tensor, heads: int) -> Tensor:
    """Return the keys that each head reads, `[..., head, key, width]`, from those of each group."""
    shared = heads // keys.shape[-3]
    return keys if shared == 1 else keys.repeat_interleave(shared, dim=-3)


def tilts(
    weights: Float[Tensor, "head query key"], visible: Bool[Tensor, "query key"], classes: Tensor
) -> tuple[Float[Tensor, "keys head query key"], tuple[bool, bool]]:
    """Return `a - u` of each row, over all keys and off the sink, times the row's share in the mean over rows.

    Attention is that over the keys that count, so that a row sums to 1 also beside a learned sink. Off the sink these
    are the other keys, and rows are weighted by the attention on them. Rows that see fewer than two such keys are left
    out.

    Args:
        weights: attention weights.
        visible: mask of the keys that each row may attend to.
        classes: `KeyClass` of each key.

    Returns:
        The weights of the scores, whose sum over rows and keys is the pull; and whether there was any row.
    """
    sink = torch.isin(classes, torch.tensor([KeyClass.CLS, KeyClass.SEP], dtype=classes.dtype, device=classes.device))
    out, has_rows, tiny = [], [], torch.finfo(weights.dtype).tiny
    for name in KEYS:
        counted = visible & ~sink if name == NON_SINK else visible
        counted = counted & (counted.sum(-1, keepdim=True) > 1)
        attention = torch.where(counted, weights, 0.0)
        mass = attention.sum(-1, keepdim=True)
        uniform = counted.to(weights) / counted.sum(-1, keepdim=True).clamp(min=1)
        used = counted.any(-1, keepdim=True)
        rows = mass if name == NON_SINK else used.expand_as(mass).to(weights)
        tilt = (attention / mass.clamp(min=tiny) - uniform) * rows
        out.append(torch.where(counted, tilt, 0.0) / rows.sum(1, keepdim=True).clamp(min=tiny))
        has_rows.append(bool(used.any()))
    return torch.stack(out), (has_rows[0], has_rows[1])


def accounts_of(
    scores: Scores, tilt: Float[Tensor, "many head query key"], index: Mapping[Source, int]
) -> Float64[Tensor, "head many side source"]:
    """Return the part of each source in the sum of a head's scores times some weights, on each side.

    Args:
        scores: scores of the layer.
        tilt: several weights of the scores of each head.
        index: position of each source in the result.
    """
    queries, keys = scores.queries.vectors, scores.keys.vectors
    many, heads = tilt.shape[:2]
    # sum_j tilt_ij k_j and sum_i tilt_ij q_i of each head, each in a copy of its own.
    read_keys = tilt @ by_head(keys, heads)
    read_queries = tilt.transpose(2, 3) @ queries
    accounts = tilt.new_zeros(heads, many, len(SIDES), len(index), dtype=torch.float64)
    sides = ((scores.queries, read_keys), (scores.keys, read_queries))
    led_back = [part.led_back(factors) for part, factors in sides]
    if scores.queries.read is scores.keys.read:
        together = _products(scores.queries.read, led_back, scores.queries.probe.shape[1:])
        products = torch.split(together, list(map(len, led_back)), dim=1)
    else:
        products = tuple(
            _products(part.read, [rows], part.probe.shape[1:]) for (part, _), rows in zip(sides, led_back, strict=True)
        )
    for side, (part, factors) in enumerate(sides):
        for sources, values in part.accounts(factors, products[side]):
            at = torch.tensor([index[source] for source in sources])
            of_sources = scores.scaling * values.permute(2, 1, 0).double().cpu()
            accounts[:, :, side].index_add_(2, at, of_sources)
    if scores.bias is not None:
        accounts[..., index[POSITION_BIAS]] += (tilt * scores.bias).sum((2, 3)).T[:, :, None].double().cpu()
    return accounts
