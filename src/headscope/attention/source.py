"""Where tiles come from: a model run over segments (saved maps are the other source, in `maps.py`)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from headscope.attention.fused import fused_attention
from headscope.attention.tap import AttentionCall, Tap, eager_evaluation
from headscope.attention.tile import AttentionTile
from headscope.attention.visibility import Visibility, visibility_of
from headscope.encoding.batching import Batch, collate
from headscope.encoding.segment import NO_WORD, Segment, SegmentInfo
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import ModelError
from headscope.models.anatomy import Anatomy, CallSite, KindLayout, fusible, scaling_of

# A tile holds at most so many weights (256 MiB of float32); a longer layer comes in several tiles.
TILE_LIMIT = 1 << 26


@runtime_checkable
class TileConsumer(Protocol):
    """What a source feeds: `begin`, then the tiles of a batch, then `end`."""

    def begin(self, batch: Batch) -> None:
        """Start a batch."""

    def update(self, tile: AttentionTile) -> None:
        """Take one tile of the batch."""

    def end(self, batch: Batch) -> None:
        """Close the batch: all its tiles have come."""


@runtime_checkable
class TileSource(Protocol):
    """A stream of batches of tiles."""

    layout: tuple[KindLayout, ...]

    def run(self, consumer: TileConsumer, *, need_weights: bool, need_statistics: bool = True) -> None:
        """Feed every batch to the consumer; what is not needed may be left out of the tiles."""


class ModelSource:
    """Run a model over segments and hand out its attention as tiles.

    Args:
        model: a transformers model.
        anatomy: what `examine` found.
        vocabulary: of the tokeniser, for the classes of tokens.
        batches: groups of segments to compute together.
        padding_side: where short segments are filled up, `right` or `left`.
        tile_limit: weights in a tile at most.

    Raises:
        ModelError: left padding asked of a model that cannot be told its tokens' positions.
    """

    def __init__(
        self,
        model: nn.Module,
        anatomy: Anatomy,
        vocabulary: Vocabulary,
        batches: Iterable[list[Segment]],
        *,
        padding_side: str = "right",
        tile_limit: int = TILE_LIMIT,
    ) -> None:
        self.model = model
        self.anatomy = anatomy
        self.layout = anatomy.layout
        self.vocabulary = vocabulary
        self.batches = batches
        self.padding_side = padding_side
        self.tile_limit = tile_limit
        if padding_side == "left" and not left_padding_works(model, anatomy):
            raise ModelError(
                f"{type(model).__name__} takes no position ids, so padding on the left would move its tokens; "
                "pad on the right"
            )

    def run(self, consumer: TileConsumer, *, need_weights: bool, need_statistics: bool = True) -> None:
        """Compute the batches one by one; see `TileSource`."""
        run = _Run(self, consumer, need_weights=need_weights, need_statistics=need_statistics)
        if self.anatomy.path == "fallback":
            with eager_evaluation(self.model), torch.inference_mode():
                for segments in self.batches:
                    run.fall_back(segments)
        else:
            with Tap(self.model, run.listen), torch.inference_mode():
                for segments in self.batches:
                    run.tap(segments)


class _Run:
    """One pass of a `ModelSource`: the state of the batch under way."""

    def __init__(
        self, source: ModelSource, consumer: TileConsumer, *, need_weights: bool, need_statistics: bool
    ) -> None:
        self.source = source
        self.consumer = consumer
        self.need_weights = need_weights
        self.need_statistics = need_statistics
        self.device = next(source.model.parameters()).device
        self.sides: dict[str, SegmentInfo] = {}
        self.seen: dict[tuple[Any, ...], tuple[Tensor | None, Visibility]] = {}

    def begin(self, segments: list[Segment]) -> tuple[Batch, dict[str, Tensor]]:
        source = self.source
        batch, inputs, decoder = model_inputs(
            segments, source.anatomy, source.vocabulary, padding_side=source.padding_side
        )
        batch = replace(batch, info=batch.info.to(self.device))
        self.sides = {"encoder": batch.info, "decoder": (decoder or batch).info.to(self.device)}
        self.seen = {}
        self.consumer.begin(batch)
        return batch, {name: tensor.to(self.device) for name, tensor in inputs.items()}

    def tap(self, segments: list[Segment]) -> None:
        batch, inputs = self.begin(segments)
        self.source.model(**inputs, **no_cache(self.source.anatomy))
        self.consumer.end(batch)

    def fall_back(self, segments: list[Segment]) -> None:
        batch, inputs = self.begin(segments)
        for site, weights in fallback_weights(self.source.model, self.source.anatomy, inputs):
            for rows in self._cuts(site.kind, weights[:, :, 0].numel()):
                self._emit(site, rows, None, weights=weights[:, :, rows])
        self.consumer.end(batch)

    def listen(self, call: AttentionCall) -> Tensor:
        """Compute one layer, in tiles, and hand them on."""
        if call.order >= len(self.source.anatomy.calls):
            raise ModelError(
                "the model computed more layers than it did at the start; its layers must not vary"
            )
        site = self.source.anatomy.calls[call.order]
        fused = self.source.anatomy.path == "fused" and fusible(call)
        outputs = []
        batch, heads = call.query.shape[:2]
        cuts = self._cuts(site.kind, batch * heads * call.key.shape[2])
        for rows in cuts:
            if not fused:
                output, weights = call.eager(rows if len(cuts) > 1 else None)
                self._emit(site, rows, call.mask, weights=weights)
            else:
                mask = (
                    call.mask[:, :, rows] if call.mask is not None and call.mask.shape[2] > 1 else call.mask
                )
                result = fused_attention(
                    call.query[:, :, rows],
                    call.key,
                    call.value,
                    mask=mask,
                    scaling=scaling_of(call),
                    keys=self._keys(site.kind),
                    start=rows.start,
                    square=site.kind != "cross",
                    need_weights=self.need_weights,
                    need_statistics=self.need_statistics,
                )
                output = result.output
                self._emit(site, rows, call.mask, weights=result.weights, statistics=result.statistics)
            outputs.append(output)
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)

    def _queries(self, kind: str) -> SegmentInfo:
        return self.sides["encoder" if kind == "encoder" else "decoder"]

    def _keys(self, kind: str) -> SegmentInfo:
        return self.sides["decoder" if kind == "decoder" else "encoder"]

    def _cuts(self, kind: str, weights_per_row: int) -> list[slice]:
        """Cut a layer's rows into tiles under the limit, between words."""
        queries = self._queries(kind)
        number = queries.valid.shape[1]
        height = max(1, self.source.tile_limit // weights_per_row)
        if height >= number:
            return [slice(0, number)]
        words = queries.word_ids
        inside = ((words[:, 1:] == words[:, :-1]) & (words[:, 1:] != NO_WORD)).any(0).cpu().numpy()
        allowed = np.flatnonzero(~inside) + 1
        cuts, start = [], 0
        while number - start > height:
            choices = allowed[(allowed > start) & (allowed <= start + height)]
            # A word longer than a tile makes the tile higher rather than cutting the word.
            later = allowed[allowed > start + height]
            stop = int(choices[-1]) if len(choices) else int(later[0]) if len(later) else number
            cuts.append(slice(start, stop))
            start = stop
        if start < number:
            cuts.append(slice(start, number))
        return cuts

    def _emit(
        self,
        site: CallSite,
        rows: slice,
        mask: Tensor | None,
        *,
        weights: Tensor | None,
        statistics: Tensor | None = None,
    ) -> None:
        self.consumer.update(
            AttentionTile(
                kind=site.kind,
                layer=site.layer,
                start=rows.start,
                queries=self._queries(site.kind),
                keys=self._keys(site.kind),
                visibility=self._visibility(site.kind, rows, mask),
                groups=site.groups,
                given_weights=weights,
                given_statistics=statistics,
            )
        )

    def _visibility(self, kind: str, rows: slice, mask: Tensor | None) -> Visibility:
        """Read the mask once a batch: layers share the tensor."""
        key = (kind, rows.start, rows.stop, id(mask))
        if key not in self.seen:
            visibility = visibility_of(
                mask,
                queries=self._queries(kind),
                keys=self._keys(kind),
                rows=rows,
                square=kind != "cross",
                causal=kind == "decoder",
            )
            self.seen[key] = (mask, visibility)  # the mask is kept so that its id stays its own
        return self.seen[key][1]


def no_cache(anatomy: Anatomy) -> dict[str, bool]:
    """Return the argument that keeps a model from remembering keys and values, where it has one."""
    return {"use_cache": False} if "use_cache" in anatomy.parameters else {}


def fallback_weights(
    model: nn.Module, anatomy: Anatomy, inputs: Mapping[str, Tensor]
) -> Iterator[tuple[CallSite, Tensor]]:
    """Yield each layer's weights `[batch, head, query, key]` as `output_attentions=True` gives them.

    The model must be in eager evaluation.
    """
    out = model(**inputs, **no_cache(anatomy), output_attentions=True, return_dict=True)
    names = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
    for part in anatomy.layout:
        layers = out[names[part.kind] if anatomy.encoder_decoder else "attentions"]
        for layer, weights in enumerate(w for w in layers if w is not None):
            yield CallSite(part.kind, layer, tuple(range(part.heads))), weights


def left_padding_works(model: nn.Module, anatomy: Anatomy) -> bool:
    """Whether padding on the left leaves a model's numbers as they are.

    It does where the model takes position ids, makes them from the padding itself, or knows distances only.
    """
    family: str = getattr(getattr(model, "config", None), "model_type", "")
    return "position_ids" in anatomy.parameters or family in ("t5", "mpnet", "deberta-v2")


def model_inputs(
    segments: list[Segment],
    anatomy: Anatomy,
    vocabulary: Vocabulary,
    *,
    padding_side: str = "right",
    decoders: list[Segment] | None = None,
) -> tuple[Batch, Mapping[str, Tensor], Batch | None]:
    """Pad segments and name the tensors as the model takes them.

    A decoder that stands behind an encoder reads `decoders`, or else the same text, shifted right by its start
    token, as in teacher-forced reconstruction.

    Returns:
        The batch, the model's arguments, and the decoder's batch for an encoder-decoder.
    """
    causal_only = not anatomy.encoder_decoder and any(part.kind == "decoder" for part in anatomy.layout)
    batch = collate(segments, vocabulary, padding_side=padding_side, decoder=causal_only)
    inputs = {"input_ids": batch.info.ids, "attention_mask": batch.info.valid.long()}
    if anatomy.has_token_types:
        inputs["token_type_ids"] = batch.token_types
    if padding_side == "left" and "position_ids" in anatomy.parameters:
        inputs["position_ids"] = batch.info.positions.clamp(min=0) + anatomy.first_position
    if not anatomy.encoder_decoder:
        return batch, inputs, None
    assert anatomy.decoder_start is not None
    if decoders is None:
        decoders = [shift_right(segment, anatomy.decoder_start) for segment in segments]
    decoder = collate(decoders, vocabulary, padding_side=padding_side, decoder=True)
    inputs["decoder_input_ids"] = decoder.info.ids
    inputs["decoder_attention_mask"] = decoder.info.valid.long()
    return batch, inputs, decoder


def shift_right(segment: Segment, start: int) -> Segment:
    """Return what a decoder reads to reconstruct a segment: its start token, then all but the last token."""

    def shift(values: np.ndarray, first: int) -> np.ndarray:
        return np.concatenate([[first], values[:-1]])

    return replace(
        segment,
        ids=shift(segment.ids, start),
        token_types=shift(segment.token_types, 0),
        word_ids=shift(segment.word_ids, NO_WORD),
    )
