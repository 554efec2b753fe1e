"""The source of pulls: run a model over segments, follow the parts of its stream, and pass on what draws each head."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float64
from torch import Tensor, nn

from headscope.analyses.why.parts import ENCODER, STEPS, Block, Parts, Source, Step, added, parts_of, set_parts
from headscope.analyses.why.pulls import KEY, QUERY, Columns, Scores, Side, accounts_of, sources_of, tilts
from headscope.analyses.why.tracing import Tracing
from headscope.attention.interventions.intervention import NoTiles
from headscope.attention.model.model_pass import ModelPass, TileConsumer
from headscope.attention.model.segment_source import SegmentSource
from headscope.attention.model.tap import AttentionCall, bias_of, scaling_of
from headscope.attention.tile import AttentionTile
from headscope.encoding.segment import Segment
from headscope.errors import ModelError
from headscope.models.anatomy import CallSite
from headscope.models.forward_inputs import short_segment
from headscope.models.losses import frozen
from headscope.models.temporary_changes import hooked

TOLERANCE = 1e-4
"""Largest difference between a score and the sum of its parts, relative to the largest score."""


@dataclass(frozen=True, kw_only=True)
class PullTile(AttentionTile):
    """All rows of a layer, with the pulls of its heads on each input, a mean over rows, in nats.

    Attributes:
        accounts: part of each source, on the side of the query and of the key, `[input, head, KEYS, SIDES, source]`; on
            each side they sum to the pull.
        has_rows: whether some row has two visible keys, `[input, KEYS]`.
    """

    accounts: Float64[Tensor, "input head keys side source"] = field(repr=False)
    has_rows: Bool[Tensor, "input keys"] = field(repr=False)


class PullSource(SegmentSource):
    """Run a model over segments, one by one, and pass on the pulls of every head as `PullTile`.

    Raises:
        ModelError: the model does not use the attention interface, computes in half precision, or its scores are not
            the sum of the parts that were followed.

    Attributes:
        opened: True once a short input was read, which shows the columns of each layer's projections.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        self.name = type(self.model).__name__
        if self.anatomy.path == "fallback":
            raise ModelError(
                f"the sources of scores are not known for {self.name}: it does not use transformers' attention "
                "interface; choose another model"
            )
        precision = next((each.dtype for each in self.model.parameters() if each.is_floating_point()), torch.float32)
        if precision not in (torch.float32, torch.float64):
            raise ModelError(
                f"the parts of scores need float32, and {self.name} computes in "
                f"{str(precision).removeprefix('torch.')}; add --dtype float32"
            )
        self.index = {source: number for number, source in enumerate(sources_of(self.layout))}
        self.tracing = Tracing(self.model)
        self.modules: list[nn.Module] = []
        self._columns: dict[tuple[str, int, str], Columns | None] = {}
        self.opened = False
        run, short = self.begun(NoTiles()), short_segment(self.vocabulary)
        with run.listening(self._note_module), run.batch([short]) as inputs, torch.no_grad():
            run.call(inputs)
        self.over([short], run)
        self.opened = True

    def _note_module(self, call: AttentionCall, site: CallSite) -> Tensor:
        """Note the module of a call; calls outside the layout have none."""
        self.modules += [nn.Identity()] * (call.order - len(self.modules))
        self.modules.append(call.module)
        return call.eager()[0]

    def run(self, consumer: TileConsumer, needs: Set[str]) -> None:
        """Compute the batches one by one; see `TileSource`."""
        run = self.begun(consumer)
        for batch in self.batches:
            self.over(batch, run)

    def over(self, segments: list[Segment], run: ModelPass) -> None:
        """Run the model over segments, one by one, with the parts of its stream."""
        before = partial(self._before, run)
        hooks = hooked(
            module.register_forward_pre_hook(before, with_kwargs=True) for module in dict.fromkeys(self.modules)
        )
        with run.listening(partial(self._listen, run)) as self._tap, hooks, frozen(self.model):
            for segment in segments:
                with run.batch([segment]) as inputs, torch.no_grad(), self.tracing:
                    run.call(inputs)

    def _before(self, run: ModelPass, module: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
        """Replace the parts of an attention module's inputs by those that `at_input` returns."""
        order = self._tap.calls
        site = self.anatomy.calls[order] if order < len(self.modules) else None
        if site is None or module is not self.modules[order]:
            return None
        with self.tracing.paused():
            values = [*arguments, *named.values()]
            self._inputs: list[tuple[Tensor, Parts, list[Step]]] = []
            self._replaced: list[tuple[Tensor, Parts]] = []
            for index, value in enumerate(values):
                if (parts := parts_of(value)) is not None:
                    values[index] = set_parts(value.view_as(value), self.at_input(run, site, value, parts))
                    self._replaced.append((values[index], parts))
        return tuple(values[: len(arguments)]), dict(zip(named, values[len(arguments) :], strict=True))

    def at_input(self, run: ModelPass, site: CallSite, value: Tensor, parts: Parts) -> Parts:
        """Return the parts of an input of an attention module that are followed to its queries and keys.

        Args:
            run: pass of the model.
            site: layer of the module.
            value: the input, `[1, token, model]`.
            parts: parts of the input.
        """
        # Where a norm made the input, the parts before it are read, so that none goes through the norm.
        read, function = parts.origin or (parts, None)
        summed = read.sum()
        summed = summed.expand(*value.shape[:-1], summed.shape[-1])[None].clone().requires_grad_(True)
        number = len(self._inputs)
        # What cross attention reads of the encoder is one source.
        if number:
            read = Parts({(ENCODER,): Block(lambda: summed.detach())})
        steps: list[Step] = []
        self._inputs.append((summed, read, steps))

        def followed() -> Tensor:
            tensor = summed if function is None else function(summed)
            setattr(tensor, STEPS, steps)
            return tensor

        return added(Parts({(Source("read", head=number),): Block(followed)}), Parts(parts.constants))

    def _listen(self, run: ModelPass, call: AttentionCall, site: CallSite) -> Tensor:
        """Pass on the tile of a layer, and return the layer's output with each head as a source."""
        with self.tracing.paused():
            output, weights = call.eager()
            visibility = run.visibility(site, slice(0, output.shape[1]), call.mask, sink=site.sink)
            tile = run.tile(site, visibility, given_weights=weights)
            run.consumer.update(self.tile_of(tile, call, site))
            self.tracing.layer = site.kind, site.layer
            for value, parts in self._replaced:  # a module may add what it read to its output, as in ALBERT
                set_parts(value, parts)
            return with_heads(output, site, kept=self.tracing.kept)

    def tile_of(self, tile: AttentionTile, call: AttentionCall, site: CallSite) -> AttentionTile:
        """Return the tile of a layer with the pulls of its heads."""
        with torch.enable_grad():
            scores = self.scores(call, site)
            tilt, has_rows = tilts(tile.weights[0], tile.visibility.visible[0], tile.keys.classes[0])
            accounts = accounts_of(scores, tilt, self.index)
        query, key = accounts.sum(-1).unbind(-1)
        if (query - key).abs().max() > TOLERANCE * scores.largest:
            raise self._unknown(site, "the parts of its queries and those of its keys have different sums")
        return PullTile(**named_fields(tile), accounts=accounts[None], has_rows=torch.tensor([has_rows]))

    def scores(self, call: AttentionCall, site: CallSite) -> Scores:
        """Return the scores of a call, with its queries and keys as functions of what the layer reads.

        Raises:
            ModelError: the scores are not the sum of the parts.
        """
        bias = bias_of(call, slice(None))
        scores = Scores(
            queries=self._side(call.query, site, QUERY),
            keys=self._side(call.key, site, KEY),
            scaling=scaling_of(call),
            bias=None if bias is None else bias[0],
        )
        if (error := scores.error) > TOLERANCE:
            raise self._unknown(site, f"its scores differ from the sum of their parts by {error:.1g} of the largest")
        return scores

    def _side(self, vectors: Tensor, site: CallSite, name: str) -> Side:
        parts = parts_of(vectors)
        read = next((source for source in parts.sources if source.part == "read"), None) if parts else None
        if parts is None or read is None:
            raise self._unknown(site, "its queries or keys are not linear in the stream")
        probe, of_input, steps = self._inputs[read.head]
        side = Side(
            vectors=vectors[0],
            image=parts.of((read,)).expand(1, *vectors.shape)[0, 0],
            probe=probe,
            steps=tuple(steps),
            others=Parts({sources: block for sources, block in parts.blocks.items() if read not in sources}),
            read=of_input,
        )
        place = site.kind, site.layer, name
        if place not in self._columns:  # found on the short input
            self._columns[place] = side.own_columns()
        return replace(side, columns=self._columns[place])

    def _unknown(self, site: CallSite, why: str) -> ModelError:
        return ModelError(
            f"the sources of scores are not known for {self.name}, {site.kind} layer {site.layer + 1}: {why}; choose "
            "another model"
        )


def named_fields(tile: AttentionTile) -> dict[str, Any]:
    """Return the attributes of a tile by name, for a tile with more of them."""
    return {each.name: getattr(tile, each.name) for each in fields(tile)}


def with_heads(output: Tensor, site: CallSite, *, kept: frozenset[Source] | None = None) -> Tensor:
    """Return the output of a layer's heads, `[batch, row, head, width]`, with each head as a source.

    Args:
        output: output of the attention function.
        site: the layer.
        kept: sources that are followed; None for all.
    """
    sources = tuple(Source("head", site.kind, site.layer, head) for head in range(output.shape[2]))
    followed = tuple(source for source in sources if kept is None or source in kept)

    def make() -> Tensor:
        apart = output.new_zeros(len(followed), *output.shape)
        for index, source in enumerate(followed):
            apart[index, :, :, source.head] = output[:, :, source.head]
        return apart

    return set_parts(output.clone(), Parts({followed: Block(make)} if followed else {}))
