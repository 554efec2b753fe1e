"""The arguments of a forward pass, made from segments, and the attention weights that a model itself returns."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from headscope.encoding.batching import Batch, collate
from headscope.encoding.segment import NO_WORD, Segment
from headscope.encoding.vocabulary import Vocabulary
from headscope.models.anatomy import Anatomy, CallSite
from headscope.models.placement import device_of

_FEW = 6
"""Tokens of a short input for trials of a model."""


def model_inputs(
    segments: list[Segment],
    anatomy: Anatomy,
    vocabulary: Vocabulary,
    *,
    padding_side: str = "right",
    decoders: list[Segment] | None = None,
) -> tuple[Batch, Mapping[str, Tensor], Batch | None]:
    """Pad segments and name the tensors as the model expects.

    The decoder of an encoder-decoder reads `decoders`, or else the same text, shifted right as the model does it,
    as in teacher-forced reconstruction.

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
    if decoders is None:
        decoders = [shift_right(segment, anatomy.shift_start) for segment in segments]
    decoder = collate(decoders, vocabulary, padding_side=padding_side, decoder=True)
    inputs["decoder_input_ids"] = decoder.info.ids
    inputs["decoder_attention_mask"] = decoder.info.valid.long()
    return batch, inputs, decoder


def shift_right(segment: Segment, start: int | None) -> Segment:
    """Return the decoder's input for reconstructing a segment: its start token, then all tokens but the last.

    Args:
        segment: the text to reconstruct.
        start: id of the start token; None for the segment's last token (mBART).
    """

    def shift(values: np.ndarray, first: int) -> np.ndarray:
        return np.concatenate([[first], values[:-1]])

    return replace(
        segment,
        ids=shift(segment.ids, int(segment.ids[-1]) if start is None else start),
        token_types=shift(segment.token_types, 0),
        word_ids=shift(segment.word_ids, NO_WORD),
    )


def no_cache(anatomy: Anatomy) -> dict[str, bool]:
    """Return the argument that turns off a model's cache of keys and values, if it has one."""
    return {"use_cache": False} if "use_cache" in anatomy.parameters else {}


def made_up_segment(length: int, vocabulary: Vocabulary, *, size: int, generator: torch.Generator) -> Segment:
    """Return an input of random tokens, none of them padding.

    Args:
        length: number of tokens.
        vocabulary: vocabulary of the tokenizer.
        size: upper bound of ids, exclusive.
        generator: generator of the random tokens.
    """
    ids = torch.randint(0, size, (length,), generator=generator)
    ids = torch.where(ids == vocabulary.pad_id, (ids + 1) % size, ids)
    zeros = torch.zeros_like(ids).numpy()
    return Segment(document="probe", index=0, ids=ids.numpy(), token_types=zeros, word_ids=zeros)


def short_segment(vocabulary: Vocabulary) -> Segment:
    """Return a synthetic input of a few tokens, the same on every call."""
    size = min(len(vocabulary.classes), 1 << 16)
    return made_up_segment(_FEW, vocabulary, size=size, generator=torch.Generator().manual_seed(0))


def short_inputs(model: nn.Module, anatomy: Anatomy, vocabulary: Vocabulary, *, copies: int = 1) -> dict[str, Any]:
    """Return all arguments of a model for copies of one synthetic input of a few tokens, on the model's device.

    Args:
        model: a transformers model.
        anatomy: result of `examine`.
        vocabulary: vocabulary of the tokenizer.
        copies: number of copies of the input in the batch.
    """
    _, inputs, _ = model_inputs([short_segment(vocabulary)] * copies, anatomy, vocabulary)
    device = device_of(model)
    return {name: tensor.to(device) for name, tensor in inputs.items()} | no_cache(anatomy)


def fallback_weights(
    model: nn.Module, anatomy: Anatomy, inputs: Mapping[str, Tensor]
) -> Iterator[tuple[CallSite, Tensor]]:
    """Yield each layer's weights `[batch, head, query, key]` as `output_attentions=True` gives them.

    The model must be in eager evaluation.
    """
    out = model(**inputs, **no_cache(anatomy), output_attentions=True, return_dict=True)
    yield from weights_in(out, anatomy)


def weights_in(out: Mapping[str, Any], anatomy: Anatomy) -> Iterator[tuple[CallSite, Tensor]]:
    """Yield each layer's weights from the output of a model with `output_attentions=True`."""
    for part in anatomy.layout:
        layers = out[f"{part.kind}_attentions" if anatomy.encoder_decoder else "attentions"]
        for layer, index in enumerate(anatomy.map_layers[part.kind]):
            groups, sink = tuple(range(part.heads)), layer in part.sinks
            yield CallSite(part.kind, layer, groups, sink=sink), layers[index]
