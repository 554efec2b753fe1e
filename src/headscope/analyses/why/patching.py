"""Path patching: how the attention of a head changes if one source is replaced on its way into its queries or keys.

The source's part of what the layer reads is replaced by its mean over tokens of the same class in the other half of the
documents; all other parts, and the norms on the way, stay as they were. Only this head's queries (or keys) change.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.analyses.why.parts import (
    BIAS,
    ENCODER,
    OUTPUT_BIAS,
    POSITION_BIAS,
    Block,
    Parts,
    Source,
    Sources,
    parts_of,
)
from headscope.analyses.why.pulls import KEYS, NON_SINK, by_head, tilts
from headscope.analyses.why.source import PullSource, named_fields
from headscope.attention.interventions.intervention import NoTiles, halves_of
from headscope.attention.model.model_pass import ModelPass, TileConsumer
from headscope.attention.model.tap import AttentionCall, bias_of, scaling_of, sink_logits
from headscope.attention.tile import AttentionTile
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import CallSite

Layer = tuple[str, int]
Chosen = Mapping[Layer, Sequence[tuple[Sources, Sources]]]
"""For each layer, the sources of each head's queries and keys that are measured."""
CONSTANT = frozenset({BIAS, OUTPUT_BIAS, POSITION_BIAS, ENCODER})
"""Sources that are not replaced: constants, and the whole of what cross attention reads."""


@dataclass(frozen=True, kw_only=True)
class PatchTile(AttentionTile):
    """All rows of a layer, with the measurements of its heads' chosen sources on each input; NaN for unmeasured ones.

    Attributes:
        moved: total variation between the attention before and after the replacement, a mean over rows,
            `[input, head, side, chosen]`.
        pairs: part of the pull off the sink that comes from a source of the query and one of the key, nats,
            `[input, head, query_chosen, key_chosen]`.
        pull: the pull off the sink, nats, `[input, head]`.
    """

    moved: Float[Tensor, "input head side chosen"] = field(repr=False)
    pairs: Float[Tensor, "input head query_chosen key_chosen"] = field(repr=False)
    pull: Float[Tensor, "input head"] = field(repr=False)


@dataclass(eq=False, repr=False)
class PatchSource(PullSource):
    """Run a model over segments, and replace the chosen sources of each head one by one, as `PatchTile`.

    Args:
        model, anatomy, vocabulary, batches: as `PullSource` takes them.
        chosen: returns the sources that are measured; called when the inputs are read.
        fitting: returns the inputs from which the means are taken.
        most: largest number of sources of a head on one side.
    """

    _: KW_ONLY
    chosen: Callable[[], Chosen]
    fitting: Callable[[], Iterable[Segment]]
    most: int

    def run(self, consumer: TileConsumer, needs: Set[str]) -> None:
        """Fit the means, then compute the batches one by one; see `TileSource`."""
        measured = self.chosen()
        needed = {layer: tuple(_needed(heads)) for layer, heads in measured.items()}
        inputs = list(self.fitting())
        halves = halves_of([segment.document for segment in inputs])
        self.means, self._measured = _Means(needed, halves), measured
        self.tracing.kept = frozenset().union(*needed.values())
        for segment in inputs:
            self.means.half = halves[segment.document]
            self.over([segment], self.begun(NoTiles()))
        self.means.fitted = True
        run = self.begun(consumer)
        for batch in self.batches:
            for segment in batch:
                self.means.half = halves.get(segment.document, 0)
                self.over([segment], run)
        self.tracing.kept = None

    def at_input(self, run: ModelPass, site: CallSite, value: Tensor, parts: Parts) -> Parts:
        """Return the parts of the sources that a layer needs, and their replacements once the means are fitted."""
        if not self.opened:
            return super().at_input(run, site, value, parts)
        number, self._inputs = len(self._inputs), [*self._inputs, (value, parts, [])]
        if number:
            return Parts()  # what cross attention reads of the encoder is not replaced
        return self.means.at_input(site, parts, run.queries(site).classes[0])

    def tile_of(self, tile: AttentionTile, call: AttentionCall, site: CallSite) -> AttentionTile:
        """Return the tile of a layer with what changes by path patching."""
        if not self.opened:
            return super().tile_of(tile, call, site)
        if not self.means.fitted:
            return tile
        return _patched(tile, call, self._measured[site.kind, site.layer], self.most)


def _needed(heads: Sequence[tuple[Sources, Sources]]) -> Iterator[Source]:
    """Yield the sources that are measured for any head of a layer, each once."""
    yield from dict.fromkeys(source for sides in heads for sources in sides for source in sources)


class _Means:
    """The mean part of each source in what a layer reads, by half of the documents and class of token.

    Args:
        needed: sources of each layer.
        halves: half of each document.

    Attributes:
        half: half of the document that is read.
        fitted: True once the means are complete.
    """

    def __init__(self, needed: Mapping[Layer, Sources], halves: Mapping[str, int]) -> None:
        self.needed, self.several = needed, len(set(halves.values())) > 1
        self.half, self.fitted = 0, False
        self._sums: dict[Layer, Tensor] = {}
        self._rows: dict[Layer, Tensor] = {}

    def at_input(self, site: CallSite, parts: Parts, classes: Tensor) -> Parts:
        """Add the parts that a layer reads to the sums; once these are complete, return the parts and their means."""
        layer = site.kind, site.layer
        if not (sources := self.needed[layer]):
            return Parts()
        own = parts.of(sources)
        if not self.fitted:
            self._add(layer, own[:, 0].double(), classes.long())
            return Parts()
        half = 1 - self.half if self.several else self.half
        sums, rows = self._sums[layer][half], self._rows[layer][half][:, None, None]
        # A class without a token in the other half takes the mean over all tokens.
        mean = torch.where(rows > 0, sums / rows.clamp(min=1), sums.sum(0) / rows.sum().clamp(min=1))
        new = mean[classes.long()].transpose(0, 1)[:, None].to(own.dtype)
        return Parts({sources: Block(lambda: own), tuple(map(as_replaced, sources)): Block(lambda: new)})

    def _add(self, layer: Layer, parts: Tensor, classes: Tensor) -> None:
        if layer not in self._sums:
            self._sums[layer] = parts.new_zeros(2, len(KeyClass), len(parts), parts.shape[-1])
            self._rows[layer] = parts.new_zeros(2, len(KeyClass))
        self._sums[layer][self.half].index_add_(0, classes, parts.transpose(0, 1))
        self._rows[layer][self.half].index_add_(0, classes, torch.ones_like(classes, dtype=torch.float64))


def as_replaced(source: Source) -> Source:
    """Return the name of a source's replacement."""
    return source._replace(replaced=True)


def _patched(
    tile: AttentionTile, call: AttentionCall, measured: Sequence[tuple[Sources, Sources]], most: int
) -> PatchTile:
    """Measure the chosen sources of the heads of a call, on one input."""
    weights, visible = tile.weights[0], tile.visibility.visible[0]
    scaling, heads = scaling_of(call), len(weights)
    queries, keys = call.query[0], by_head(call.key[0], heads)
    of_query, of_key = parts_of(call.query), parts_of(call.key)
    assert of_query is not None
    assert of_key is not None
    tilt = tilts(weights, visible, tile.keys.classes[0])[0][KEYS.index(NON_SINK)]
    moved = weights.new_full((heads, 2, most), torch.nan)
    pairs = weights.new_full((heads, most, most), torch.nan)
    for head, (query_sources, key_sources) in enumerate(measured):
        group = head * call.key.shape[1] // heads
        own_queries = [_part(of_query, source, head) for source in query_sources]
        own_keys = [_part(of_key, source, group) for source in key_sources]
        changes: list[tuple[int, int, Tensor]] = []
        for number, (source, part) in enumerate(zip(query_sources, own_queries, strict=True)):
            if source not in CONSTANT:
                new = _part(of_query, as_replaced(source), head)
                changes.append((0, number, (new - part) @ keys[head].T))
        for number, (source, part) in enumerate(zip(key_sources, own_keys, strict=True)):
            if source not in CONSTANT:
                new = _part(of_key, as_replaced(source), group)
                changes.append((1, number, queries[head] @ (new - part).T))
        if changes:
            products = torch.stack([change for _, _, change in changes]) + queries[head] @ keys[head].T
            after = attention_of(call, scaling * products, head, visible)
            change = after - weights[head]
            # What the keys lose, a learned sink gains.
            distance = (change.abs().sum(-1) + change.sum(-1).abs()).mean(-1) / 2
            for (side, number, _), value in zip(changes, distance, strict=True):
                moved[head, side, number] = value
        for first, query_part in enumerate(own_queries):
            for second, key_part in enumerate(own_keys):
                if query_sources[first] != POSITION_BIAS and key_sources[second] not in (POSITION_BIAS, ENCODER):
                    pairs[head, first, second] = scaling * ((tilt[head] @ key_part) * query_part).sum()
    scores = scaling * queries @ keys.transpose(1, 2)
    if (bias := bias_of(call, slice(None))) is not None:
        scores = scores + bias[0]
    return PatchTile(**named_fields(tile), moved=moved[None], pairs=pairs[None], pull=(tilt * scores).sum((1, 2))[None])


def _part(parts: Parts, source: Source, index: int) -> Float[Tensor, "token width"]:
    """Return the part of a source in the queries of a head or the keys of a group."""
    found = [
        block.tensor[sources.index(source), 0, index] for sources, block in parts.blocks.items() if source in sources
    ]
    return sum(found[1:], start=found[0]) if found else next(iter(parts.blocks.values())).tensor.new_zeros(())


def attention_of(
    call: AttentionCall, products: Float[Tensor, "change query key"], head: int, visible: Bool[Tensor, "query key"]
) -> Float[Tensor, "change query key"]:
    """Return the attention of a head from other scaled products of queries and keys, as its layer computes it.

    Args:
        call: call of the attention function, with position bias, soft-cap and learned sink.
        products: scaled products.
        head: number of the head, from 0.
        visible: mask of the keys that each row may attend to.
    """
    scores = products
    if (bias := bias_of(call, slice(None))) is not None:
        scores = scores + bias[0, head if bias.shape[1] > 1 else 0]
    if (cap := call.options.get("softcap")) is not None:
        scores = cap * torch.tanh(scores / cap)
    scores = scores.masked_fill(~visible, -torch.inf)
    if (sink := sink_logits(call)) is not None:
        column = sink[0, head].expand(scores.shape[1])[None, :, None].expand(len(scores), -1, 1)
        return torch.cat([scores, column.to(scores)], dim=-1).softmax(-1)[..., :-1]
    return scores.softmax(-1)
