"""A small batch that shows how a model computes attention, through eager and through the tap.

Class attributes do not show it (`layer_idx` is None in DistilBERT, ALBERT shares one module among its layers,
T5 and BART repeat an index for self and cross attention, DeBERTa-v2 never uses the interface), so an
input with different lengths on the encoder's and the decoder's side is run and the calls are counted.
"""

from typing import Any

import torch
from torch import Tensor, nn

from headscope.attention.model.tap import AttentionCall, Tap, sink_of
from headscope.encoding.batching import collate
from headscope.encoding.segment import SegmentInfo
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import ModelError
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import made_up_segment
from headscope.models.placement import device_of
from headscope.models.refusals import WORKING_FAMILIES
from headscope.models.temporary_changes import eager_evaluation
from headscope.visible import shown

ROW_TOLERANCE = 0.02  # for half precision
LENGTHS = (11, 8)
"""Lengths of the two segments, in tokens."""
DECODER_LENGTHS = (7, 5)


class TrialBatch:
    """A padded batch of two synthetic segments, run through eager attention and through the tap."""

    def __init__(self, model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, *, vocabulary_size: int) -> None:
        self.model = model
        generator = torch.Generator().manual_seed(0)

        def made_up(lengths: tuple[int, ...]) -> SegmentInfo:
            return collate(
                [made_up_segment(n, vocabulary, size=vocabulary_size, generator=generator) for n in lengths], vocabulary
            ).info

        device = device_of(model)
        self.encoder = made_up(LENGTHS)
        self.decoder = made_up(DECODER_LENGTHS)
        self.inputs: dict[str, Any] = {"input_ids": self.encoder.ids, "attention_mask": self.encoder.valid.long()}
        if anatomy.encoder_decoder:
            self.inputs["decoder_input_ids"] = self.decoder.ids
            self.inputs["decoder_attention_mask"] = self.decoder.valid.long()
        self.inputs = {name: tensor.to(device) for name, tensor in self.inputs.items()}
        if "use_cache" in anatomy.parameters:
            self.inputs["use_cache"] = False
        self.encoder_decoder = anatomy.encoder_decoder
        kinds = ("encoder", "decoder", "cross")
        self._names = (
            {kind: f"{kind}_attentions" for kind in kinds} if self.encoder_decoder else {"encoder": "attentions"}
        )
        # By kind, known after the first run: the layers of the model's output that are maps, the number of layers that
        # are not, and the layers whose rows sum to less than 1, because of a learned sink.
        self.map_layers: dict[str, tuple[int, ...]] = {}
        self.layers_without_maps: dict[str, int] = {}
        self.layers_with_sinks: dict[str, list[int]] = {}

    def queries(self, kind: str) -> SegmentInfo:
        """Return the attending tokens (queries) of a kind of attention."""
        return self.decoder if self.encoder_decoder and kind != "encoder" else self.encoder

    def keys(self, kind: str) -> SegmentInfo:
        """Return the attended tokens (keys) of a kind of attention."""
        return self.decoder if self.encoder_decoder and kind == "decoder" else self.encoder

    def eager_weights(self) -> dict[str, list[Tensor]]:
        """Return transformers' own eager weights of each kind, one tensor per layer, `[batch, head, query, key]`.

        Raises:
            ModelError: there are none, they are not weights over keys, or layers of a kind differ in their number of
                heads.
        """
        kinds = self.weights(self.inputs)
        self._check(kinds)
        if not self.encoder_decoder and all(_is_causal(layer) for layer in kinds["encoder"]):
            self.map_layers = {"decoder": self.map_layers["encoder"]}
            self.layers_without_maps = {"decoder": self.layers_without_maps["encoder"]}
            self.layers_with_sinks = {"decoder": self.layers_with_sinks.get("encoder", [])}
            kinds = {"decoder": kinds["encoder"]}
        return kinds

    def weights(self, inputs: dict[str, Any]) -> dict[str, list[Tensor]]:
        """Run the model and return its weights by kind; a decoder without encoder has the kind of `map_layers`."""
        name = type(self.model).__name__
        try:
            with eager_evaluation(self.model), torch.inference_mode():
                out = self.model(**inputs, output_attentions=True, return_dict=True)
            layers = {kind: list(out.get(key) or ()) for kind, key in self._names.items()}
        except Exception as error:
            raise ModelError(
                f"{name} cannot be run on token ids alone with its attention given out ({in_a_line(error)}); "
                f"expected a transformer that reads text; these families work: {WORKING_FAMILIES}"
            ) from error
        if not self.map_layers:
            compressed = {getattr(module, "layer_idx", None) for module in self.model.modules() if compresses(module)}
            for kind, outputs in layers.items():
                maps = (layer for layer, each in enumerate(outputs) if self._is_map(each, kind))
                if places := tuple(layer for layer in maps if layer not in compressed):
                    self.map_layers[kind] = places
            if not self.map_layers:
                several = any(isinstance(each, Tensor | dict) for outputs in layers.values() for each in outputs)
                raise ModelError(
                    _NO_ATTENTION.format(name=name)
                    + (" (each of its keys covers many tokens)" if compressed else "")
                    + (" (its weights are not query by key)" if several and not compressed else "")
                )
            self.layers_without_maps = {
                kind: len(layers[kind]) - len(self.map_layers.get(kind, ()))
                for kind in layers
                if self.encoder_decoder or layers[kind]
            }
        of = {"decoder": "encoder"} if not self.encoder_decoder else {}
        return {
            kind: [layers[of.get(kind, kind)][layer] for layer in places] for kind, places in self.map_layers.items()
        }

    def _is_map(self, output: Any, kind: str) -> bool:
        """Return True if a layer's output for the padded batch holds a weight of each key for each query."""
        sides = self.queries(kind).ids.shape[1], self.keys(kind).ids.shape[1]
        return isinstance(output, Tensor) and output.ndim == 4 and output.shape[2:] == sides

    def notes(self) -> tuple[str, ...]:
        """Return sentences about the parts of the model's attention that are not read; none if all of it is read."""
        notes = []
        for kind, number in self.layers_without_maps.items():
            if kind not in self.map_layers:
                notes.append(
                    f"the model's {kind} attention is not read: it gives none, or weights of windows or blocks "
                    "in place of each query's weights over all keys"
                )
            elif number:
                notes.append(f"{number} of the model's layers give no weights of each query over all keys")
        return tuple(notes)

    def _check(self, kinds: dict[str, list[Tensor]]) -> None:
        """Check that outputs are rows of weights over all keys that sum to 1, or to less because of a learned sink.

        Raises:
            ModelError: rows have another sum, or layers differ in their number of heads.
        """
        name = type(self.model).__name__
        for kind, layers in kinds.items():
            heads = sorted({weights.shape[1] for weights in layers})
            if len(heads) > 1:
                raise ModelError(
                    f"{name} has {' and '.join(map(str, heads))} heads in different layers; expected as many in every "
                    f"layer: choose another model; these families work: {WORKING_FAMILIES}"
                )
            for layer, weights in enumerate(layers):
                valid = self.queries(kind).valid[:, None].expand(weights.shape[:3])
                if not weights[valid].min() >= 0:
                    raise ModelError(
                        f"{name} gives scores in place of attention weights: some are negative; choose another model; "
                        f"these families work: {WORKING_FAMILIES}"
                    )
                rows = weights.float().sum(-1)[valid]
                if (rows - 1).abs().max() <= ROW_TOLERANCE:
                    continue
                if rows.max() > 1 + ROW_TOLERANCE or not self._has_sinks():
                    raise ModelError(
                        f"{name}'s rows of attention sum to {_from_to(rows)}, not to 1, and the model hands no learned "
                        "sink to its attention function that takes the rest, so that shares and entropies would mean "
                        f"something else: choose another model; these families work: {WORKING_FAMILIES}"
                    )
                self.layers_with_sinks.setdefault(kind, []).append(layer)

    def _has_sinks(self) -> bool:
        """Return True if the model passes a learned sink to its attention function."""
        has_sink = []

        def listen(call: AttentionCall) -> Tensor:
            has_sink.append(sink_of(call) is not None)
            return call.eager()[0]

        try:
            with Tap(self.model, listen), torch.inference_mode():
                self.model(**self.inputs)
        except Exception:  # as in `tapped`
            return False
        return any(has_sink)


_NO_ATTENTION = (
    "{name} gives no attention weights: expected a transformer with softmax attention; these families work: "
    + WORKING_FAMILIES
)


def _from_to(sums: Tensor) -> str:
    """Return the range of sums as text: "0.01 to 0.57"."""
    return " to ".join(f"{float(end):.2f}" for end in (sums.min(), sums.max()))


def compresses(module: nn.Module) -> bool:
    """Return True if an attention module adds keys that each summarize many tokens (DeepSeek V4)."""
    return getattr(module, "compressor", None) is not None


def _is_causal(weights: Tensor) -> bool:
    return bool((torch.triu(weights[0], diagonal=1) == 0).all())


def in_a_line(error: Exception) -> str:
    """Return an error from a model's own code in one line."""
    return shown(" ".join(f"{type(error).__name__}: {error}".split()), limit=200)
