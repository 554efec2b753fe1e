"""A small batch that shows what a model's attention is made of, through eager and through the tap.

Class attributes do not tell (`layer_idx` is None in DistilBERT, ALBERT shares one module among its layers,
T5 and BART repeat an index for self and cross attention, DeBERTa-v2 never asks the interface), so an
input with different lengths on the encoder's and the decoder's side is run and the calls are counted.
"""

from typing import Any

import torch
from torch import Tensor, nn

from headscope.attention.fused import fused_attention, fusible
from headscope.attention.tap import AttentionCall, Tap, eager_evaluation, scaling_of
from headscope.encoding.batching import collate
from headscope.encoding.segment import Segment, SegmentInfo
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import ModelError
from headscope.models.anatomy import Anatomy, CallSite, Together
from headscope.models.families import WORKING_FAMILIES

_ROW_TOLERANCE = 0.02  # of half precision
_PADDING_TOLERANCE = 1e-4  # another shape of batch changes float32 by 1e-5 of a weight at most
_LENGTHS = (11, 8)
_DECODER_LENGTHS = (7, 5)


class TrialBatch:
    """A padded batch of two made-up segments, seen by eager attention and by the tap."""

    def __init__(
        self, model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, *, vocabulary_size: int
    ) -> None:
        self.model = model
        generator = torch.Generator().manual_seed(0)

        def made_up(lengths: tuple[int, ...]) -> SegmentInfo:
            segments = []
            for length in lengths:
                ids = torch.randint(0, vocabulary_size, (length,), generator=generator)
                ids = torch.where(ids == vocabulary.pad_id, (ids + 1) % vocabulary_size, ids)
                tokens, zeros = ids.numpy(), torch.zeros_like(ids).numpy()
                segments.append(
                    Segment(document="probe", index=0, ids=tokens, token_types=zeros, word_ids=zeros)
                )
            return collate(segments, vocabulary).info

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

    def eager_weights(self) -> dict[str, list[Tensor]]:
        """Return transformers' own eager weights of each kind, a tensor a layer, `[batch, head, query, key]`."""
        kinds = self._weights(self.inputs)
        self._check(kinds)
        if not self.encoder_decoder and all(_is_causal(layer) for layer in kinds["encoder"]):
            kinds = {"decoder": kinds["encoder"]}
        return kinds

    def _weights(self, inputs: dict[str, Any]) -> dict[str, list[Tensor]]:
        """Run the model and take what it gives; a decoder without encoder is an `encoder` here."""
        try:
            with eager_evaluation(self.model), torch.inference_mode():
                out = self.model(**inputs, output_attentions=True, return_dict=True)
        except (TypeError, ValueError, RuntimeError, IndexError) as error:
            raise ModelError(_NO_ATTENTION.format(name=type(self.model).__name__) + f" ({error})") from error
        if self.encoder_decoder:
            named = {
                "encoder": out.get("encoder_attentions"),
                "decoder": out.get("decoder_attentions"),
                "cross": out.get("cross_attentions"),
            }
        else:
            named = {"encoder": out.get("attentions")}
        kinds = {k: [layer for layer in v if layer is not None] for k, v in named.items() if v}
        kinds = {k: v for k, v in kinds.items() if v and v[0].ndim == 4}
        if not kinds:
            raise ModelError(_NO_ATTENTION.format(name=type(self.model).__name__))
        return kinds

    def together(self, expected: dict[str, list[Tensor]]) -> Together:
        """Return which inputs may share a batch: what a model gives of each alone is compared with the padded batch.

        Args:
            expected: the padded batch's eager weights.
        """
        alone = [self._weights(self._only([item])) for item in range(len(_LENGTHS))]
        if all(self._same(item, expected, item, own) for item, own in enumerate(alone)):
            return "padded"
        # The short one beside another of its length: a copy of itself, read backwards.
        short = len(_LENGTHS) - 1
        twice = self._only([short, short])
        for name in ("input_ids", "decoder_input_ids"):
            if name in twice:
                twice[name] = torch.stack([twice[name][0], twice[name][1].flip(0)])
        return "equal" if self._same(0, self._weights(twice), short, alone[short]) else "alone"

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
        self, place: int, given: dict[str, list[Tensor]], item: int, own: dict[str, list[Tensor]]
    ) -> bool:
        """Whether an input's weights at a place of a batch are those that it has alone, `own`."""
        for kind, layers in own.items():
            rows = (_LENGTHS if kind == "encoder" or not self.encoder_decoder else _DECODER_LENGTHS)[item]
            keys = (_DECODER_LENGTHS if kind == "decoder" and self.encoder_decoder else _LENGTHS)[item]
            for layer, weights in enumerate(layers):
                theirs = given.get(kind, given.get("decoder", []))[layer][place, :, :rows, :keys]
                if theirs.shape != weights.shape[1:] or not float((theirs - weights[0]).abs().max()) < (
                    _PADDING_TOLERANCE if weights.dtype in (torch.float32, torch.float64) else _ROW_TOLERANCE
                ):
                    return False
        return True

    def _check(self, kinds: dict[str, list[Tensor]]) -> None:
        """Make sure that these are rows of weights over all keys, which sum to 1.

        Raises:
            ModelError: a window's weights (Longformer), or rows that attention sinks take a share of (GPT-OSS).
        """
        name = type(self.model).__name__
        sides = {"encoder": (self.encoder, self.encoder), "decoder": (self.decoder, self.decoder)}
        sides["cross"] = (self.decoder, self.encoder)
        for kind, layers in kinds.items():
            queries, keys = sides[kind]
            for weights in layers:
                if weights.shape[-2:] != (queries.ids.shape[1], keys.ids.shape[1]):
                    raise ModelError(_NO_ATTENTION.format(name=name) + " (its weights are not query by key)")
                rows = weights.float().sum(-1)[queries.valid[:, None].expand(weights.shape[:3])]
                if (rows - 1).abs().max() > _ROW_TOLERANCE:
                    raise ModelError(
                        f"{name}'s rows of attention do not sum to 1 (attention sinks?), so that shares and entropies "
                        f"would mean something else; these families work: {WORKING_FAMILIES}"
                    )

    def tapped(
        self, path: str, expected: dict[str, list[Tensor]]
    ) -> tuple[tuple[CallSite, ...] | None, float]:
        """Run the tap on a path; return whose call each was and the largest difference from eager's weights."""
        seen: list[tuple[CallSite, Tensor]] = []
        apart = [0.0]  # fused against eager on the same queries and keys, call by call
        done = dict.fromkeys(expected, 0)

        def listen(call: AttentionCall) -> Tensor:
            kind = self._kind(call, expected)
            keys = self.encoder if kind in ("encoder", "cross") or not self.encoder_decoder else self.decoder
            output, weights = call.eager()
            if path == "fused":
                apart.append(_fused_difference(call, keys.to(call.query.device), output, weights))
            heads, groups = call.query.shape[1], call.key.shape[1]
            site = CallSite(kind, done[kind], tuple(head * groups // heads for head in range(heads)))
            done[kind] += 1
            seen.append((site, weights))
            return output

        try:
            with Tap(self.model, listen), torch.inference_mode():
                self.model(**self.inputs)
        except (KeyError, ModelError, TypeError):
            return None, float("inf")  # Falcon raises KeyError; others have options that eager alone takes
        if done != {kind: len(layers) for kind, layers in expected.items()}:
            return None, float("inf")
        worst = max(apart)
        for site, weights in seen:
            queries = self.encoder if site.kind == "encoder" or not self.encoder_decoder else self.decoder
            rows = queries.valid[:, None, :, None].to(weights.device)
            difference = (weights - expected[site.kind][site.layer]).abs() * rows
            worst = max(worst, float(difference.max()))
        return tuple(site for site, _ in seen), worst

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


def _fused_difference(call: AttentionCall, keys: SegmentInfo, output: Tensor, weights: Tensor) -> float:
    """Return the largest difference of the fused path from eager's weights and output (relative to its size)."""
    if not fusible(call):
        return float("inf")
    result = fused_attention(
        call.query,
        call.key,
        call.value,
        mask=call.mask,
        scaling=scaling_of(call),
        keys=keys,
        start=0,
        square=False,
        need_weights=True,
    )
    assert result.weights is not None
    off = (result.output - output).abs().max() / output.abs().max().clamp(min=1.0)
    return max(float((result.weights - weights).abs().max()), float(off))


def _is_causal(weights: Tensor) -> bool:
    return bool((torch.triu(weights[0], diagonal=1) == 0).all())
