"""The source of pulls: run a model over segments, follow the parts of its stream, and pass on what draws each head."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, fields
from functools import partial

import torch
from torch import Tensor, nn

from headscope.analyses.why.parts import Block, Parts, Source, Tracing, parts_of, set_parts
from headscope.analyses.why.pulls import HeadPulls, Scores, head_pulls, one_source, sources_of
from headscope.attention.interventions.intervention import NoTiles
from headscope.attention.model.model_pass import ModelPass, TileConsumer
from headscope.attention.model.segment_source import SegmentSource
from headscope.attention.model.tap import AttentionCall, bias_of, scaling_of
from headscope.attention.tile import AttentionTile
from headscope.encoding.segment import Segment
from headscope.errors import ModelError
from headscope.models.anatomy import CallSite
from headscope.models.forward_inputs import short_segment

TOLERANCE = 1e-4
"""Largest difference between a score and the sum of its parts, relative to the largest score."""


@dataclass(frozen=True, kw_only=True)
class PullTile(AttentionTile):
    """All rows of a layer on one input, with the pulls of its heads."""

    pulls: HeadPulls = field(repr=False)


class PullSource(SegmentSource):
    """Run a model over segments, one by one, and pass on the pulls of every head as `PullTile`.

    Raises:
        ModelError: the model does not use the attention interface, computes in half precision, or its scores are not
            the sum of the parts that were followed.
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
        self.over([short_segment(self.vocabulary)], self.begun(NoTiles()))

    def run(self, consumer: TileConsumer, needs: Set[str]) -> None:
        """Compute the batches one by one; see `TileSource`."""
        run = self.begun(consumer)
        for batch in self.batches:
            self.over(batch, run)

    def over(self, segments: list[Segment], run: ModelPass) -> None:
        """Run the model over segments, one by one."""
        with run.listening(partial(self.listen, run)) as self.tap:
            for segment in segments:
                with run.batch([segment]) as inputs, torch.inference_mode(), self.tracing:
                    run.call(inputs)

    def listen(self, run: ModelPass, call: AttentionCall, site: CallSite) -> Tensor:
        """Pass on the pulls of a layer's heads, and return the layer's output with each head as a source."""
        if len(self.modules) < call.order + 1:
            self.modules.extend([call.module] * (call.order + 1 - len(self.modules)))
        with self.tracing.paused():
            output, weights = call.eager()
            scores = self.scores(call, site)
            visibility = run.visibility(site, slice(0, output.shape[1]), call.mask, sink=site.sink)
            pulls = head_pulls(scores, weights[0], visibility.visible[0], run.keys(site).classes[0], self.index)
            tile = run.tile(site, visibility, given_weights=weights)
            named = {each.name: getattr(tile, each.name) for each in fields(tile)}
            run.consumer.update(PullTile(**named, pulls=pulls))
            self.tracing.layer = site.kind, site.layer
            return with_heads(output, site)

    def scores(self, call: AttentionCall, site: CallSite) -> Scores:
        """Return the parts of the scores of a call.

        Raises:
            ModelError: the scores are not the sum of the parts.
        """
        queries, keys = parts_of(call.query), parts_of(call.key)
        if queries is None or keys is None:
            raise self._unknown(site, "its queries or keys are not linear in the stream")
        if site.kind == "cross":
            keys = one_source(keys)
        bias = bias_of(call, slice(None))
        scores = Scores(
            queries=call.query[0],
            keys=call.key[0],
            query_parts=queries.mapped(lambda block: block.expand(-1, *call.query.shape)),
            key_parts=keys.mapped(lambda block: block.expand(-1, *call.key.shape)),
            scaling=scaling_of(call),
            bias=None if bias is None else bias[0],
        )
        if (error := scores.error) > TOLERANCE:
            raise self._unknown(site, f"its scores differ from the sum of their parts by {error:.1g} of the largest")
        return scores

    def _unknown(self, site: CallSite, why: str) -> ModelError:
        return ModelError(
            f"the sources of scores are not known for {self.name}, {site.kind} layer {site.layer + 1}: {why}; choose "
            "another model"
        )


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
