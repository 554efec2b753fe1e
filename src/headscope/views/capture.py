"""One forward pass of a model on one text: a snapshot of its attention of every kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headscope.attention.model.examination import examine
from headscope.attention.model.projections import Projections, find_projections
from headscope.attention.model.tap import AttentionCall, Tap, attended, sink_weight
from headscope.attention.output_norms import Writing
from headscope.encoding.encoder import Encoder
from headscope.encoding.tokenizer.pieces import target_note, target_tokenizer
from headscope.errors import InputError, OptionError
from headscope.models.anatomy import Anatomy, KindLayout
from headscope.models.forward_inputs import fallback_weights, no_cache
from headscope.models.in_memory import without_head
from headscope.models.load_model import LoadedModel
from headscope.models.placement import device_of
from headscope.models.temporary_changes import eager_evaluation
from headscope.views.attention_snapshot import AttentionSnapshot, KindMaps
from headscope.views.kept_layers import DIFFERENT, WITH_SINK, KeptLayers, WrittenNorms
from headscope.views.model_input import Reading, ReadingRequest, read
from headscope.visible import cells, shorten

MOST_WEIGHTS = 1 << 28
"""Largest number of weights in a page: browsers cannot open larger ones, at a byte per weight."""
LONGEST_HEADING = 80
SHORT = 32
"""Number of tokens up to which queries and keys are kept by default."""
FALLBACK = (
    "{name} does not hand over its queries and keys (it does not use transformers' attention interface): the neuron "
    "view needs a family that does, as BERT, GPT-2, Llama, T5 or Gemma."
)


class AttentionReader:
    """A loaded model, ready to show its attention on any number of texts.

    Args:
        loaded: the model and its tokenizer.

    Attributes:
        model: the model that is run to read attention: without its vocabulary head.

    Raises:
        ModelError: the model returns no attention weights, or its tokenizer cannot be used.
    """

    def __init__(self, loaded: LoadedModel) -> None:
        self.loaded = loaded
        self.model: nn.Module = without_head(loaded).model
        self.encoder = Encoder(loaded.tokenizer)
        self.anatomy: Anatomy = examine(self.model, self.encoder.vocabulary)

    @cached_property
    def target_encoder(self) -> Encoder:
        """The tokenizer's wrapper for the decoder text of an encoder-decoder model."""
        if not self.anatomy.encoder_decoder:
            return self.encoder
        tokenizer = target_tokenizer(self.loaded.tokenizer)
        return self.encoder if tokenizer is self.loaded.tokenizer else Encoder(tokenizer)

    @cached_property
    def projections(self) -> Projections:
        """The output projection of each layer's attention; one pass over a short input finds it."""
        return find_projections(self.model, self.anatomy, self.encoder.vocabulary)

    def view(
        self,
        text: str,
        text_b: str | None = None,
        *,
        layers: Sequence[int] = (),
        neuron: bool | None = False,
        **more: Any,
    ) -> AttentionSnapshot:
        """Run the model on a text and return all its weights, equal to those of transformers' own eager attention.

        Generated tokens are read with the text in one pass, which gives each the weights it had when it was generated.

        Args:
            text: the text; in an encoder-decoder model the encoder's.
            text_b: the second text of a pair.
            layers: 1-based labels of the layers to keep, within each kind; all when empty.
            neuron: True to keep queries, keys and the other parts of the scores; None to keep them for texts of at most
                `SHORT` tokens, where they add little.
            **more: `decoder_text`, `generate`, `max_length`, `too_long`: see `ReadingRequest`.

        Raises:
            HeadscopeError: the text, a layer or a length is invalid, or the model cannot generate.
        """
        text_request = ReadingRequest(text=text, text_b=text_b, **more)
        wanted = chosen_layers(self.anatomy.layout, layers)
        reading = read(self.loaded, self.encoder, self.anatomy, text_request, target_encoder=self.target_encoder)
        self._check_size(reading, wanted)
        if neuron is None:
            neuron = reading.longest <= SHORT
        kept = self._run(reading, wanted, neuron=neuron)
        kinds = tuple(
            self._kind(part, wanted[part.kind], kept, reading, neuron=neuron)
            for part in self.anatomy.layout
            if wanted[part.kind]
        )
        generated = self._generated(reading)
        language = None if text_request.decoder_text is None else target_note(self.loaded.tokenizer)
        return AttentionSnapshot(
            title=heading(" → ".join(filter(None, [text, text_b])), generated),
            model=self.loaded.name,
            kinds=kinds,
            notes=tuple(filter(None, [*reading.notes, language, *self.anatomy.notes])),
            generated=generated,
        )

    def _generated(self, reading: Reading) -> str:
        """Return the text that the model generated, without special tokens."""
        text = reading.target or reading.source
        if text.axis.generated is None:
            return ""
        ids = text.segment.ids[text.axis.generated :]
        return str(self.loaded.tokenizer.decode(ids, skip_special_tokens=True)).strip()

    def _run(self, reading: Reading, wanted: Mapping[str, Sequence[int]], *, neuron: bool) -> KeptLayers:
        kept, model = KeptLayers(wanted, neuron=neuron), self.model
        inputs = reading.inputs(self.encoder, self.anatomy)
        inputs = {name: tensor.to(device_of(model)) for name, tensor in inputs.items()}
        if self.anatomy.path == "fallback":
            with eager_evaluation(model), torch.inference_mode():
                for site, weights in fallback_weights(model, self.anatomy, inputs):
                    kept.keep(site, weights, sink_weight(weights) if site.sink else None)
            return kept

        # Output norms are read for decoders only, where one layer builds on information that another has moved.
        writing = Writing(model, self.projections) if "decoder" in wanted else None

        def listen(call: AttentionCall) -> Tensor:
            attended_call = attended(call)
            if (site := self.anatomy.calls[call.order]) is not None:
                kept.keep(site, attended_call.weights, attended_call.sink, call)
                if writing is not None and site.kind == "decoder":
                    kept.write(site, call, attended_call.output, writing)
            return attended_call.output

        listening = nullcontext() if writing is None else writing.listening()
        with Tap(model, listen), listening, torch.inference_mode():
            model(**inputs, **no_cache(self.anatomy))
        return kept

    def _kind(
        self, part: KindLayout, layers: Sequence[int], kept: KeptLayers, reading: Reading, *, neuron: bool
    ) -> KindMaps:
        queries, keys = reading.sides(part.kind)
        parts = [kept.neuron[part.kind, layer] for layer in layers] if kept.neuron else []
        whole = tuple(layer_parts for layer_parts in parts if layer_parts is not None)
        reason = DIFFERENT if len(whole) < len(parts) else None
        if neuron and self.anatomy.path == "fallback":
            reason = FALLBACK.format(name=type(self.loaded.model).__name__)
        weights = np.stack([kept.weights[part.kind, layer] for layer in layers])
        axis = None if keys is None else keys.axis
        if sinks := {layer: kept.sinks[part.kind, layer] for layer in layers if (part.kind, layer) in kept.sinks}:
            nothing = np.zeros(weights.shape[1:3], dtype=np.float32)  # a layer without a sink has weight 0 on it
            beside = np.stack([sinks.get(layer, nothing) for layer in layers])
            weights = np.concatenate([weights, beside[..., None]], axis=3)
            axis = (axis or queries.axis).beside_sink()
            whole, reason = (), WITH_SINK if neuron else None
        return KindMaps(
            kind=part.kind,
            weights=weights,
            queries=queries.axis,
            keys=axis,
            layers=tuple(layers),
            neuron=whole if reason is None else (),
            no_neuron=reason,
            written=WrittenNorms.of_layers([kept.written.get((part.kind, layer)) for layer in layers]),
        )

    def _check_size(self, reading: Reading, wanted: Mapping[str, Sequence[int]]) -> None:
        total = 0
        for part in self.anatomy.layout:
            queries, keys = reading.sides(part.kind)
            pairs = len(queries.segment) * len((keys or queries).segment)
            total += len(wanted[part.kind]) * part.heads * pairs
        if total > MOST_WEIGHTS:
            raise InputError(
                f"the attention of this text is {total:,} weights, and a page can hold {MOST_WEIGHTS:,}; shorten the "
                "text, or choose fewer layers (--include-layers)"
            )


def heading(text: str, generated: str) -> str:
    """Return the text and the generated text in one line; if it is too long, the beginnings of both."""
    text, generated = (" ".join(each.split()) for each in (text, generated))
    if not generated:
        return shorten(text, LONGEST_HEADING)
    whole = f"{text} → {generated}"
    if cells(whole) <= LONGEST_HEADING:
        return whole
    return f"{shorten(text, LONGEST_HEADING // 2)} → {shorten(generated, LONGEST_HEADING // 2)}"


def chosen_layers(layout: Iterable[KindLayout], layers: Sequence[int]) -> dict[str, tuple[int, ...]]:
    """Return the labels of the layers to keep in each kind, ascending; all if `layers` is empty.

    Raises:
        OptionError: a layer exists in no kind.
    """
    labels_of = {
        part.kind: tuple(label for label in range(1, part.layers + 1) if not layers or label in layers)
        for part in layout
    }
    wrong = sorted(set(layers).difference(*labels_of.values()))
    if wrong:
        most = max(part.layers for part in layout)
        raise OptionError(f"there is no layer {wrong[0]}; expected labels from 1 to {most}")
    return labels_of
