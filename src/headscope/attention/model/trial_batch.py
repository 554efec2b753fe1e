"""A small batch that shows how a model computes attention, through eager and through the tap.

Class attributes do not say it (`layer_idx` is None in DistilBERT, ALBERT shares one module among its layers,
T5 and BART repeat an index for self and cross attention, DeBERTa-v2 never asks the interface), so an
input with different lengths on the encoder's and the decoder's side is run and the calls are counted.
"""

from typing import Any

import torch
from torch import Tensor, nn

from headscope.attention.fused.blocks import BlockSize
from headscope.attention.fused.single_pass import fused_attention, fusible
from headscope.attention.model.learned_sink import attended, sink_logits, sink_of
from headscope.attention.model.tap import AttentionCall, Tap, bias_of, scaling_of
from headscope.encoding.batching import collate
from headscope.encoding.segment import SegmentInfo
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import ModelError
from headscope.models.anatomy import Anatomy, CallSite, Together
from headscope.models.eager_mode import eager_evaluation
from headscope.models.folder.shown import shown
from headscope.models.forward_inputs import made_up_segment
from headscope.models.loading.refusals import WORKING_FAMILIES

_ROW_TOLERANCE = 0.02  # of half precision
_PADDING_TOLERANCE = 1e-4  # another shape of batch changes float32 by 1e-5 of a weight at most
_LENGTHS = (11, 8)
_DECODER_LENGTHS = (7, 5)
# So that the short trial comes in blocks of a few rows, as long inputs do.
_SMALL_BLOCK = BlockSize(scores=24, few=1, low=2)


class TrialBatch:
    """A padded batch of two made-up segments, seen by eager attention and by the tap."""

    def __init__(
        self, model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, *, vocabulary_size: int
    ) -> None:
        self.model = model
        generator = torch.Generator().manual_seed(0)

        def made_up(lengths: tuple[int, ...]) -> SegmentInfo:
            return collate(
                [made_up_segment(n, vocabulary, size=vocabulary_size, generator=generator) for n in lengths],
                vocabulary,
            ).info

        device = next(model.parameters()).device
        self.encoder = made_up(_LENGTHS)
        self.decoder = made_up(_DECODER_LENGTHS)
        self.inputs: dict[str, Any] = {
            "input_ids": self.encoder.ids,
            "attention_mask": self.encoder.valid.long(),
        }
        if anatomy.encoder_decoder:
            self.inputs["decoder_input_ids"] = self.decoder.ids
            self.inputs["decoder_attention_mask"] = self.decoder.valid.long()
        self.inputs = {name: tensor.to(device) for name, tensor in self.inputs.items()}
        if "use_cache" in anatomy.parameters:
            self.inputs["use_cache"] = False
        self.encoder_decoder = anatomy.encoder_decoder
        kinds = ("encoder", "decoder", "cross")
        self._names = (
            {kind: f"{kind}_attentions" for kind in kinds}
            if self.encoder_decoder
            else {"encoder": "attentions"}
        )
        # Which of the layers that the model gives out are maps, and how many are not; known after the first run.
        self.map_layers: dict[str, tuple[int, ...]] = {}
        self.lost: dict[str, int] = {}
        self.own_layers: dict[str, list[Any]] = {}  # which of the model's layers each call of the tap was of
        self.short: dict[str, list[int]] = {}  # the layers whose rows sum to less than 1, for a learned sink

    def eager_weights(self) -> dict[str, list[Tensor]]:
        """Return transformers' own eager weights of each kind, a tensor a layer, `[batch, head, query, key]`.

        Raises:
            ModelError: there are none, they are no weights over keys, or a kind's layers differ in their heads.
        """
        kinds = self._weights(self.inputs)
        self._check(kinds)
        if not self.encoder_decoder and all(_is_causal(layer) for layer in kinds["encoder"]):
            self.map_layers = {"decoder": self.map_layers["encoder"]}
            self.lost = {"decoder": self.lost["encoder"]}
            self.short = {"decoder": self.short.get("encoder", [])}
            kinds = {"decoder": kinds["encoder"]}
        return kinds

    def _weights(self, inputs: dict[str, Any]) -> dict[str, list[Tensor]]:
        """Run the model and take what it gives; of a decoder without encoder what `map_layers` calls it."""
        name = type(self.model).__name__
        try:
            with eager_evaluation(self.model), torch.inference_mode():
                out = self.model(**inputs, output_attentions=True, return_dict=True)
            layers = {kind: list(out.get(key) or ()) for kind, key in self._names.items()}
        except Exception as error:
            raise ModelError(
                f"{name} cannot be run on token ids alone with its attention given out ({_why(error)}); "
                f"expected a transformer that reads text; these families work: {WORKING_FAMILIES}"
            ) from error
        if not self.map_layers:
            compressed = {
                getattr(module, "layer_idx", None) for module in self.model.modules() if _compresses(module)
            }
            self.map_layers = {
                kind: tuple(
                    layer
                    for layer, each in enumerate(outputs)
                    if self._is_map(each, kind) and layer not in compressed
                )
                for kind, outputs in layers.items()
            }
            self.map_layers = {kind: places for kind, places in self.map_layers.items() if places}
            if not self.map_layers:
                several = any(
                    isinstance(each, Tensor | dict) for outputs in layers.values() for each in outputs
                )
                raise ModelError(
                    _NO_ATTENTION.format(name=name)
                    + (" (all its keys stand for many tokens)" if compressed else "")
                    + (" (its weights are not query by key)" if several and not compressed else "")
                )
            self.lost = {
                kind: len(layers[kind]) - len(self.map_layers.get(kind, ()))
                for kind in layers
                if self.encoder_decoder or layers[kind]
            }
        of = {"decoder": "encoder"} if not self.encoder_decoder else {}
        return {
            kind: [layers[of.get(kind, kind)][layer] for layer in places]
            for kind, places in self.map_layers.items()
        }

    def _is_map(self, output: Any, kind: str) -> bool:
        """Whether what the padded batch gives of a layer are weights of each key for each query."""
        queries = (self.decoder if kind in ("decoder", "cross") else self.encoder).ids.shape[1]
        keys = (self.decoder if kind == "decoder" else self.encoder).ids.shape[1]
        return isinstance(output, Tensor) and output.ndim == 4 and output.shape[2:] == (queries, keys)

    def notes(self) -> tuple[str, ...]:
        """Return what of the model's attention is not read, as sentences; nothing where all of it is."""
        notes = []
        for kind, number in self.lost.items():
            if kind not in self.map_layers:
                notes.append(
                    f"the model's {kind} attention is not read: it gives none, or weights of windows or blocks "
                    "in place of each query's weights over all keys"
                )
            elif number:
                notes.append(f"{number} of the model's layers give no weights of each query over all keys")
        return tuple(notes)

    def together(self, expected: dict[str, list[Tensor]]) -> Together:
        """Return which inputs may share a batch: what a model gives of each alone is compared with the padded batch.

        Args:
            expected: the padded batch's eager weights.
        """
        self._check_short()
        alone = [self._weights(self._only([item])) for item in range(len(_LENGTHS))]
        if all(self._same(item, expected, item, weights) for item, weights in enumerate(alone)):
            # The keys that an indexer chooses are often tied, and a wider batch breaks ties otherwise; as few tokens as
            # here it keeps them all.
            chooses = any("Indexer" in type(module).__name__ for module in self.model.modules())
            return "equal" if chooses else "padded"
        # The short one beside another of its length: a copy of itself, read backwards.
        short = len(_LENGTHS) - 1
        twice = self._only([short, short])
        for name in ("input_ids", "decoder_input_ids"):
            if name in twice:
                twice[name] = torch.stack([twice[name][0], twice[name][1].flip(0)])
        return "equal" if self._same(0, self._weights(twice), short, alone[short]) else "alone"

    def _check_short(self) -> None:
        """Refuse a model that a short input stops (CANINE pools over four letters): every text has some.

        Raises:
            ModelError: an input of two tokens cannot be read.
        """
        short = {
            name: value[:1, :2] if isinstance(value, Tensor) else value for name, value in self.inputs.items()
        }
        try:
            with eager_evaluation(self.model), torch.inference_mode():
                self.model(**short)
        except Exception as error:
            raise ModelError(
                f"{type(self.model).__name__} cannot be run on an input of two tokens ({_why(error)}); "
                f"expected a model that reads inputs of any length; these families work: {WORKING_FAMILIES}"
            ) from error

    def _only(self, items: list[int]) -> dict[str, Any]:
        """Return the model's arguments for inputs of one length, without padding."""
        sides = {"": _LENGTHS, "decoder_": _DECODER_LENGTHS}
        return {
            name: value[items, : sides["decoder_" if name.startswith("decoder_") else ""][items[0]]]
            if isinstance(value, Tensor)
            else value
            for name, value in self.inputs.items()
        }

    def _same(
        self, index: int, batch_weights: dict[str, list[Tensor]], item: int, alone: dict[str, list[Tensor]]
    ) -> bool:
        """Whether an input's weights at a place of a batch are those that it has alone, `alone`."""
        for kind, layers in alone.items():
            rows = (_LENGTHS if kind == "encoder" or not self.encoder_decoder else _DECODER_LENGTHS)[item]
            keys = (_DECODER_LENGTHS if kind == "decoder" and self.encoder_decoder else _LENGTHS)[item]
            for layer, weights in enumerate(layers):
                theirs = batch_weights[kind][layer][index, :, :rows, :keys]
                if theirs.shape != weights.shape[1:] or not float((theirs - weights[0]).abs().max()) < (
                    _PADDING_TOLERANCE if weights.dtype in (torch.float32, torch.float64) else _ROW_TOLERANCE
                ):
                    return False
        return True

    def own_numbers(self, path: str) -> dict[str, tuple[int, ...]]:
        """Return each layer's 1-based number among all of the model's, of the kinds where not all have attention.

        Args:
            path: the one that was chosen.
        """
        numbers = {}
        for kind, places in self.map_layers.items():
            layer_numbers = list(places) if path == "fallback" else self.own_layers.get(kind, [])
            known = all(isinstance(layer, int) for layer in layer_numbers) and layer_numbers == sorted(
                set(layer_numbers)
            )
            if known and layer_numbers and layer_numbers != list(range(len(layer_numbers))):
                numbers[kind] = tuple(layer + 1 for layer in layer_numbers)
        return numbers

    def _check(self, kinds: dict[str, list[Tensor]]) -> None:
        """Make sure that these are rows of weights over all keys, which sum to 1, or to less for a learned sink.

        Raises:
            ModelError: rows that sum to something else, or layers with other numbers of heads.
        """
        name = type(self.model).__name__
        sides = {"encoder": (self.encoder, self.encoder), "decoder": (self.decoder, self.decoder)}
        sides["cross"] = (self.decoder, self.encoder)
        for kind, layers in kinds.items():
            queries, _ = sides[kind]
            heads = sorted({weights.shape[1] for weights in layers})
            if len(heads) > 1:
                raise ModelError(
                    f"{name} has {' and '.join(map(str, heads))} heads in different layers; expected as many in every "
                    f"layer: choose another model; these families work: {WORKING_FAMILIES}"
                )
            for layer, weights in enumerate(layers):
                valid = queries.valid[:, None].expand(weights.shape[:3])
                if not weights[valid].min() >= 0:
                    raise ModelError(
                        f"{name} gives scores in place of attention weights: some are negative; choose another model; "
                        f"these families work: {WORKING_FAMILIES}"
                    )
                rows = weights.float().sum(-1)[valid]
                if (rows - 1).abs().max() <= _ROW_TOLERANCE:
                    continue
                if rows.max() > 1 + _ROW_TOLERANCE or not self._has_sinks():
                    raise ModelError(
                        f"{name}'s rows of attention sum to {_from_to(rows)}, not to 1, and the model hands no learned "
                        "sink to its attention function that takes the rest, so that shares and entropies would mean "
                        f"something else: choose another model; these families work: {WORKING_FAMILIES}"
                    )
                self.short.setdefault(kind, []).append(layer)

    def _has_sinks(self) -> bool:
        """Whether the model hands a learned sink to its attention function."""
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

    def tapped(
        self, path: str, expected: dict[str, list[Tensor]]
    ) -> tuple[tuple[CallSite | None, ...] | None, float]:
        """Run the tap on a path; return whose call each was and the largest difference from eager's weights."""
        calls: list[CallSite | None] = []
        tapped_weights: list[tuple[CallSite, Tensor]] = []
        apart = [0.0]  # fused against eager on the same queries and keys, call by call
        done = dict.fromkeys(expected, 0)
        self.own_layers = {}

        def listen(call: AttentionCall) -> Tensor:
            kind = self._kind(call, expected)
            keys = self.encoder if kind in ("encoder", "cross") or not self.encoder_decoder else self.decoder
            if _compresses(call.module) or (
                not self.encoder_decoder and call.key.shape[2] != keys.ids.shape[1]
            ):
                calls.append(None)  # keys that are no tokens: the model gives no map of this layer either
                return call.eager()[0]
            output, weights = call.eager()
            if path == "fused":
                apart.append(_fused_difference(call, keys.to(call.query.device)))
            heads, groups = call.query.shape[1], call.key.shape[1]
            shared = tuple(head * groups // heads for head in range(heads))
            site = CallSite(kind, done[kind], shared, sink=sink_of(call) is not None)
            done[kind] += 1
            self.own_layers.setdefault(kind, []).append(getattr(call.module, "layer_idx", None))
            calls.append(site)
            tapped_weights.append((site, weights))
            return output

        try:
            with Tap(self.model, listen), torch.inference_mode():
                self.model(**self.inputs)
        except Exception:  # Falcon raises KeyError; others have options that eager alone takes
            return None, float("inf")
        if done != {kind: len(layers) for kind, layers in expected.items()}:
            return None, float("inf")
        worst = max(apart)
        for site, weights in tapped_weights:
            queries = self.encoder if site.kind == "encoder" or not self.encoder_decoder else self.decoder
            rows = queries.valid[:, None, :, None].to(weights.device)
            difference = (weights - expected[site.kind][site.layer]).abs() * rows
            worst = max(worst, float(difference.max()))
        return tuple(calls), worst

    def _kind(self, call: AttentionCall, expected: dict[str, list[Tensor]]) -> str:
        if not self.encoder_decoder:
            return next(iter(expected))
        if call.query.shape[2] == max(_LENGTHS):
            return "encoder"
        return "decoder" if call.key.shape[2] == max(_DECODER_LENGTHS) else "cross"


_NO_ATTENTION = (
    "{name} gives no attention weights: expected a transformer with softmax attention; these families work: "
    + WORKING_FAMILIES
)


def _fused_difference(call: AttentionCall, keys: SegmentInfo) -> float:
    """Return the largest difference of the fused path from eager's weights, sink and output (relative to its size)."""
    if not fusible(call):
        return float("inf")
    eager = attended(call)
    worst = 0.0
    for size in (None, _SMALL_BLOCK):
        result = fused_attention(
            call.query,
            call.key,
            call.value,
            mask=call.mask,
            bias=bias_of(call, slice(None)),
            sink=sink_logits(call),
            scaling=scaling_of(call),
            keys=keys,
            start=0,
            square=False,
            need_weights=True,
            size=size,
        )
        assert result.weights is not None
        off = (result.output - eager.output).abs().max() / eager.output.abs().max().clamp(min=1.0)
        worst = max(worst, float((result.weights - eager.weights).abs().max()), float(off))
        if result.sink is not None and eager.sink is not None:
            worst = max(worst, float((result.sink - eager.sink).abs().max()))
    return worst


def _from_to(sums: Tensor) -> str:
    """Write between which numbers sums lie: "0.01 to 0.57"."""
    return " to ".join(f"{float(end):.2f}" for end in (sums.min(), sums.max()))


def _compresses(module: nn.Module) -> bool:
    """Whether an attention module puts keys that stand for many tokens beside the tokens (DeepSeek V4)."""
    return getattr(module, "compressor", None) is not None


def _is_causal(weights: Tensor) -> bool:
    return bool((torch.triu(weights[0], diagonal=1) == 0).all())


def _why(error: Exception) -> str:
    """Return in one line what a model's own code raised."""
    return shown(" ".join(f"{type(error).__name__}: {error}".split()), limit=200)
