"""What a model's attention is made of, found by looking: one small forward pass through eager and the tap.

Class attributes do not tell (`layer_idx` is None in DistilBERT, ALBERT shares one module among its layers,
T5 and BART repeat an index for self and cross attention, DeBERTa-v2 never asks the interface), so a probe
input with different lengths on the encoder's and the decoder's side is run and the calls are counted.
"""

import inspect
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn

from headscope.attention.fused import fused_attention
from headscope.attention.tap import AttentionCall, Tap, eager_evaluation
from headscope.encoding.batching import collate
from headscope.encoding.segment import Segment, SegmentInfo
from headscope.encoding.vocabulary import Vocabulary
from headscope.errors import ModelError
from headscope.models.folder.shown import shown

Path = Literal["fused", "eager", "fallback"]

# Plain softmax(scale q k' + mask) v; each is proven against eager in the tests, and again at every start.
FUSED_FAMILIES = frozenset(
    [
        "albert",
        "bart",
        "bert",
        "camembert",
        "distilbert",
        "electra",
        "gpt2",
        "gpt_neox",
        "llama",
        "mistral",
        "modernbert",
        "opt",
        "qwen2",
        "qwen3",
        "roberta",
        "xlm-roberta",
    ]
)
WORKING_FAMILIES = (
    "BERT, DistilBERT, RoBERTa, XLM-R, CamemBERT, ELECTRA, ALBERT, ModernBERT, GPT-2, GPT-NeoX, OPT, Llama, Mistral, "
    "Qwen3, Gemma 2 and 3, Phi-3, T5, BART, DeBERTa-v2, MPNet"
)
_TOLERANCE = 1e-6
_ROW_TOLERANCE = 0.02  # of half precision
_PROBE_LENGTHS = (11, 8)
_DECODER_LENGTHS = (7, 5)


@dataclass(frozen=True)
class KindLayout:
    """How many heads of a kind there are: `layers` layers of `heads` heads."""

    kind: str
    layers: int
    heads: int


@dataclass(frozen=True)
class CallSite:
    """Which layer of which kind a call of a forward pass belongs to, and the key/value group of each head."""

    kind: str
    layer: int
    groups: tuple[int, ...]


@dataclass(frozen=True)
class Anatomy:
    """A model's attention.

    Attributes:
        layout: the kinds of attention, encoder first.
        path: `fused` (own scores and softmax), `eager` (the model's own function through the tap) or
            `fallback` (`output_attentions=True`: the model never asks the interface).
        calls: for the tap's paths, whose attention each call of a forward pass is, in order.
        parameters: the names of the arguments that the model takes.
        encoder_decoder: whether the model has both an encoder and a decoder.
        decoder_start: the id a decoder with an encoder begins with.
        has_token_types: whether texts of a pair are told apart by token types.
        first_position: the position id of a segment's first token (RoBERTa counts from its pad id on).
    """

    layout: tuple[KindLayout, ...]
    path: Path
    calls: tuple[CallSite, ...]
    parameters: frozenset[str]
    encoder_decoder: bool
    decoder_start: int | None
    has_token_types: bool
    first_position: int = 0


def examine(model: nn.Module, vocabulary: Vocabulary, *, path: Path | None = None) -> Anatomy:
    """Run the probe and choose the path.

    Args:
        model: a transformers model, on its device.
        vocabulary: of its tokeniser.
        path: insist on this path; None takes the first of fused, eager and fallback that gives transformers'
            own eager weights to 1e-6.

    Raises:
        ModelError: the model gives no attention weights, or not on the path insisted upon.
    """
    config: Any = model.config
    parameters = frozenset(inspect.signature(model.forward).parameters)
    encoder_decoder = bool(getattr(config, "is_encoder_decoder", False)) and "decoder_input_ids" in parameters
    start = getattr(config, "decoder_start_token_id", None)
    if not isinstance(start, int | None):
        raise ModelError(
            f"config.json's decoder_start_token_id is {shown(start, limit=40)}; expected the id of one token, as "
            "save_pretrained writes it"
        )
    text_config = config.get_text_config() if hasattr(config, "get_text_config") else config
    anatomy = Anatomy(
        layout=(),
        path="fallback",
        calls=(),
        parameters=parameters,
        encoder_decoder=encoder_decoder,
        decoder_start=int(start if start is not None else vocabulary.pad_id) if encoder_decoder else None,
        # GPT-2 takes the argument too, and adds the embedding of token 0 to every token for a type of 0.
        has_token_types="token_type_ids" in parameters
        and (getattr(config, "type_vocab_size", None) or 0) > 1,
        first_position=_first_position(model),
    )
    probe = _Probe(model, anatomy, vocabulary, vocabulary_size=text_config.vocab_size)
    expected = probe.eager_weights()
    layout = _layout(expected)
    tried = []
    for candidate in (path,) if path else ("fused", "eager", "fallback"):
        if candidate == "fallback":
            return replace(anatomy, layout=layout, path="fallback", calls=())
        if candidate == "fused" and path is None and config.model_type not in FUSED_FAMILIES:
            continue
        calls, worst = probe.tapped(candidate, expected)
        if calls is not None and worst <= _TOLERANCE:
            return replace(anatomy, layout=layout, path=candidate, calls=calls)
        tried.append(f"{candidate}: " + ("the tap saw no call" if calls is None else f"off by {worst:.1e}"))
    raise ModelError(
        f"{type(model).__name__} cannot be read on the path asked for ({'; '.join(tried)}); leave the choice open"
    )


def _layout(expected: dict[str, list[Tensor]]) -> tuple[KindLayout, ...]:
    return tuple(
        KindLayout(kind, len(layers), layers[0].shape[1]) for kind, layers in expected.items() if layers
    )


class _Probe:
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
        self.encoder = made_up(_PROBE_LENGTHS)
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
        try:
            with eager_evaluation(self.model), torch.inference_mode():
                out = self.model(**self.inputs, output_attentions=True, return_dict=True)
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
        self._check(kinds)
        if not self.encoder_decoder and all(_is_causal(layer) for layer in kinds["encoder"]):
            kinds = {"decoder": kinds["encoder"]}
        return kinds

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
        if call.query.shape[2] == max(_PROBE_LENGTHS):
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


def fusible(call: AttentionCall) -> bool:
    """Whether a call is plain scaled attention in a precision that the fused path computes in."""
    special = ("softcap", "position_bias", "s_aux", "sinks")
    return (
        call.query.dtype in (torch.float32, torch.float64)
        and (
            call.mask is None
            or (call.mask.is_floating_point() and call.mask.ndim == 4 and call.mask.shape[1] == 1)
        )
        and all(call.options.get(name) is None for name in special)
    )


def scaling_of(call: AttentionCall) -> float:
    """Return the factor of the scores; by default one over the root of the width."""
    scaling = call.options.get("scaling")
    return float(call.query.shape[-1] ** -0.5 if scaling is None else scaling)


def _first_position(model: nn.Module) -> int:
    """RoBERTa's kin reserve the position of the pad id, and begin after it."""
    base = getattr(model, "base_model", model)  # the embeddings lie there where the model has a head
    table = getattr(getattr(base, "embeddings", None), "position_embeddings", None)
    reserved = getattr(table, "padding_idx", None)
    return 0 if reserved is None else int(reserved) + 1


def _is_causal(weights: Tensor) -> bool:
    return bool((torch.triu(weights[0], diagonal=1) == 0).all())
