"""The source of tiles that runs a model over segments (saved maps are the other source, in `maps.maps_source`)."""

from collections.abc import Set
from contextlib import nullcontext
from dataclasses import KW_ONLY, dataclass
from functools import cache, partial
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from headscope.attention.fused.block_products import FusedResult
from headscope.attention.fused.single_pass import fused_call, why_not_fusible
from headscope.attention.model.model_pass import TILE_LIMIT, ModelPass, TileConsumer
from headscope.attention.model.output_path import Projection
from headscope.attention.model.projections import find_projections
from headscope.attention.model.segment_source import SegmentSource
from headscope.attention.model.tap import AttentionCall, attended, sink_weight
from headscope.attention.output_norms import Writing, key_norms
from headscope.attention.tile import vectors_of
from headscope.encoding.batching import ahead, of_one_length
from headscope.encoding.segment import Segment
from headscope.models.anatomy import CallSite, KindLayout
from headscope.models.forward_inputs import fallback_weights
from headscope.models.temporary_changes import eager_evaluation


@runtime_checkable
class TileSource(Protocol):
    """A stream of batches of tiles."""

    layout: tuple[KindLayout, ...]

    def run(self, consumer: TileConsumer, needs: Set[str]) -> None:
        """Feed every batch to the consumer.

        Args:
            consumer: consumer of the tiles.
            needs: parts of a tile that it reads (`TileAccumulator.needs`); others may be left out. Output norms and
                vectors are in tiles only if they are needed and the source can compute them.
        """


@dataclass(eq=False, repr=False)
class ModelSource(SegmentSource):
    """Run a model over segments and pass on its attention as tiles.

    Args:
        model, anatomy, vocabulary, batches, padding_side: as `SegmentSource` takes them.
        tile_limit: maximum number of weights in a tile.

    Raises:
        ModelError: left padding was requested, and it changes the model's numbers.
    """

    _: KW_ONLY
    tile_limit: int = TILE_LIMIT

    def __post_init__(self) -> None:
        super().__post_init__()
        # Found once, on first use, and shared with the copies that read a part of the batches.
        self._projections = cache(partial(find_projections, self.model, self.anatomy, self.vocabulary))

    def run(self, consumer: TileConsumer, needs: Set[str]) -> None:
        """Compute the batches one by one; see `TileSource`."""
        shared, fallback = self.begun(consumer), self.anatomy.path == "fallback"
        writing = Writing(self.model, self._projections()) if "written" in needs and not fallback else None
        run = _Forward(self, shared, needs, writing)
        listening = eager_evaluation(self.model) if fallback else shared.listening(run.listen)
        streams = nullcontext() if writing is None else writing.listening()
        with listening, streams, torch.inference_mode():
            # Batches are collated while an accelerator computes; on a CPU this would take cores from the model.
            batches = self.batches if shared.device.type == "cpu" else ahead(self.batches)
            for batch in batches:
                for segments in of_one_length(batch, together=self.anatomy.together):
                    (run.fall_back if fallback else run.tap)(segments)


class _Forward:
    """The forward passes of a `ModelSource`: compute each layer in tiles and pass them on one by one.

    Args:
        source: settings for cutting tiles.
        shared: the pass.
        needs: required parts of the tiles.
        writing: measures the outputs of heads; None if nobody needs them.
    """

    def __init__(self, source: ModelSource, shared: ModelPass, needs: Set[str], writing: Writing | None) -> None:
        self.source, self.shared = source, shared
        self.need_weights, self.need_vectors = "weights" in needs, "vectors" in needs
        # Norm-weighted statistics are computed along with those of the weights, or from the weights if these are kept.
        self.need_statistics = "statistics" in needs or (writing is not None and not self.need_weights)
        self.writing = writing

    def tap(self, segments: list[Segment]) -> None:
        """Run the model on a batch, listening to its layers."""
        with self.shared.batch(segments) as inputs:
            self.shared.call(inputs)

    def fall_back(self, segments: list[Segment]) -> None:
        """Run the model on a batch and use the weights that it returns."""
        shared = self.shared
        with shared.batch(segments) as inputs:
            masks: list[Tensor] = []
            for site, weights in fallback_weights(shared.model, shared.anatomy, inputs):
                mask = _seen(weights, masks)
                sink = sink_weight(weights) if site.sink else None
                for rows in shared.cuts(site, weights[:, :, 0].numel(), limit=self.source.tile_limit):
                    beside = None if sink is None else sink[:, :, rows]
                    visibility = shared.visibility(site, rows, mask, sink=site.sink)
                    tile = shared.tile(site, visibility, given_weights=weights[:, :, rows], sink=beside)
                    shared.consumer.update(tile)

    def listen(self, call: AttentionCall, site: CallSite) -> Tensor:
        """Compute one layer and pass it on in tiles: at once, or when its gate is known."""
        projection = None if self.writing is None else self.writing.of(site)
        if self.writing is None or projection is None or projection.gate == "none":
            return self._tiles(call, site, projection)
        every = slice(0, call.query.shape[2])
        output = self._fused(call, site, every).output if self._fuses(call) else call.eager()[0]
        # The layer is computed again at that time, so that its tiles never wait in memory.
        self.writing.when_gated(projection, output, partial(self._tiles, call, site, projection))
        return output

    def _tiles(
        self, call: AttentionCall, site: CallSite, projection: Projection | None, gate: Tensor | None = None
    ) -> Tensor:
        shared, fused = self.shared, self._fuses(call)
        outputs = []
        batch, heads = call.query.shape[:2]
        # With a gate by channel, norms belong to pairs, and are summed up from the weights.
        by_pair = gate is not None and projection is not None and projection.gate == "channel"
        need_weights = self.need_weights or by_pair
        # Row statistics alone need little memory, and the fused path cuts its own blocks, so a layer is one tile then.
        weights_per_row = batch * heads * call.key.shape[2] if need_weights or not fused else 0
        cuts = shared.cuts(site, weights_per_row, limit=self.source.tile_limit)
        norms = None if projection is None else key_norms(call.value, projection.factor)
        for rows in cuts:
            statistics, of_written = None, None
            weights: Tensor | None
            if not fused:
                answer = attended(call, rows if len(cuts) > 1 else None)
                output, weights, sink = answer.output, answer.weights, answer.sink
            else:
                summed = norms if self.need_statistics and not by_pair else None
                result = self._fused(call, site, rows, need_weights=need_weights, norms=summed)
                output, weights, sink = result.output, result.weights, result.sink
                statistics, of_written = result.statistics, result.norm_statistics
            written = None
            if self.writing is not None and projection is not None:
                written = self.writing.written(
                    call,
                    projection,
                    rows=rows,
                    output=output,
                    keys=norms,
                    gate=None if gate is None else gate[:, rows],
                    statistics=of_written,
                )
            tile = shared.tile(
                site,
                shared.visibility(site, rows, call.mask, sink=sink is not None),
                given_weights=weights,
                given_statistics=statistics,
                written=written,
                sink=sink,
                vectors=vectors_of(call, rows=rows, output=output) if self.need_vectors else None,
            )
            shared.consumer.update(tile)
            outputs.append(output)
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)

    def _fuses(self, call: AttentionCall) -> bool:
        return self.shared.anatomy.path == "fused" and why_not_fusible(call) is None

    def _fused(
        self, call: AttentionCall, site: CallSite, rows: slice, need_weights: bool = False, norms: Tensor | None = None
    ) -> FusedResult:
        return fused_call(
            call,
            rows=rows,
            reach=partial(self.shared.reach, call.mask, call.key.shape[2], rows),
            keys=self.shared.keys(site),
            square=site.kind != "cross",
            need_weights=need_weights,
            need_statistics=self.need_statistics,
            norms=norms,
        )


def _seen(weights: Tensor, before: list[Tensor]) -> Tensor:
    """Return the keys that a layer's rows may attend to, `[batch, 1, query, key]`, for models without a readable mask.

    After a softmax, only masked keys are exactly 0 in every head, unless scores are a hundred nats apart.

    Args:
        weights: weights of the layer, `[batch, head, query, key]`.
        before: results of earlier layers; a new result is added, and layers with equal results share one.
    """
    visible = (weights > 0).any(dim=1, keepdim=True)
    same = next((mask for mask in before if mask.shape == visible.shape and torch.equal(mask, visible)), None)
    if same is not None:
        return same
    before.append(visible)
    return visible
