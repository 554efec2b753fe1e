"""A model's input for a text: the text itself, or with the generated text appended."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from headscope.encoding.encoder import Encoder
from headscope.encoding.segment import Segment
from headscope.errors import ModelError, OptionError
from headscope.models.anatomy import Anatomy
from headscope.models.forward_inputs import model_inputs
from headscope.models.load_model import LoadedModel, longest_input
from headscope.models.temporary_changes import eager_evaluation, quiet_libraries
from headscope.views.text_input import (
    TOO_LONG,
    TextInput,
    after_start,
    axis_of,
    continued,
    shifted,
    text_input,
    without_end,
)


@dataclass(frozen=True, kw_only=True)
class ReadingRequest:
    """A request to read texts.

    Attributes:
        text: the text; in an encoder-decoder model the encoder's.
        text_b: the second text of a pair.
        decoder_text: decoder text of an encoder-decoder model; when None, `text` again, or only its start token if it
            generates.
        generate: number of tokens to generate after the text, greedily.
        max_length: maximum number of tokens; the model's maximum when None.
        too_long: treatment of a longer text: `error` or `truncate`.
    """

    text: str
    text_b: str | None = None
    decoder_text: str | None = None
    generate: int = 0
    max_length: int | None = None
    too_long: str = "error"


@dataclass(frozen=True, eq=False)
class Reading:
    """The input of a model (of its encoder, if it has one), and the decoder input of an encoder-decoder model."""

    source: TextInput
    target: TextInput | None

    def inputs(self, encoder: Encoder, anatomy: Anatomy) -> Mapping[str, Tensor]:
        """Return the model's arguments."""
        target = None if self.target is None else self.target.segment
        return inputs_of(encoder, anatomy, self.source.segment, target)

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user about the texts."""
        return tuple(note for text in (self.source, self.target) if text is not None for note in text.notes)

    @property
    def longest(self) -> int:
        """Number of tokens of the longer text."""
        return max(len(text.segment) for text in (self.source, self.target) if text is not None)

    def sides(self, kind: str) -> tuple[TextInput, TextInput | None]:
        """Return the queries and the keys of a kind of attention; keys are None if they equal the queries."""
        if self.target is None or kind == "encoder":
            return self.source, None
        return self.target, self.source if kind == "cross" else None


def read(
    loaded: LoadedModel, encoder: Encoder, anatomy: Anatomy, request: ReadingRequest, *, target_encoder: Encoder
) -> Reading:
    """Tokenize the texts, and generate if the request includes it.

    Args:
        loaded: the model with its tokenizer.
        encoder: wrapper of the tokenizer.
        anatomy: result of `examine`.
        request: the request.
        target_encoder: wrapper of the tokenizer for the decoder text of an encoder-decoder model.

    Raises:
        HeadscopeError: a text or a length is invalid, or the model cannot generate.
    """
    most = _most(loaded, anatomy, request)
    if request.decoder_text is not None and not anatomy.encoder_decoder:
        raise OptionError(
            f"{loaded.name} has no decoder behind an encoder; leave --decoder-text out, or choose a model such as T5 "
            "or BART"
        )
    # Leave room for the generated tokens.
    room = most - (0 if anatomy.encoder_decoder else request.generate)
    source = text_input(encoder, request.text, request.text_b, most=room, too_long=request.too_long)
    if not anatomy.encoder_decoder:
        if not request.generate:
            return Reading(source, None)
        begun = without_end(encoder, source.segment)
        new = generate(loaded, anatomy, inputs_of(encoder, anatomy, begun, None), tokens=request.generate)
        whole = _written(encoder, begun, new, segment_b=source.axis.segment_b, typed=source.typed)
        return Reading(replace(whole, notes=source.notes), None)
    # As everywhere in headscope, a decoder without a text of its own reads the encoder's text again.
    text = source
    if request.decoder_text is not None:
        room = most - request.generate
        text = text_input(target_encoder, request.decoder_text, most=room, too_long=request.too_long)
    notes = text.notes if text is not source else ()
    typed = {position + 1: unknown for position, unknown in text.typed.items()}
    begun = shifted(target_encoder, text.segment, anatomy.shift_start)
    if not request.generate:
        return Reading(source, TextInput(begun, axis_of(target_encoder, begun, typed=typed), notes))
    if request.decoder_text is None:
        assert anatomy.decoder_start is not None
        begun, typed = after_start(anatomy.decoder_start, None), {}
    begun = without_end(target_encoder, begun)
    inputs = inputs_of(encoder, anatomy, source.segment, begun)
    new = generate(loaded, anatomy, inputs, tokens=request.generate)
    return Reading(source, replace(_written(target_encoder, begun, new, typed=typed), notes=notes))


def inputs_of(encoder: Encoder, anatomy: Anatomy, source: Segment, target: Segment | None) -> Mapping[str, Tensor]:
    """Return the model's arguments for one input without padding."""
    decoders = None if target is None else [target]
    return model_inputs([source], anatomy, encoder.vocabulary, decoders=decoders)[1]


def _written(
    encoder: Encoder, begun: Segment, new: list[int], *, segment_b: int | None = None, typed: Mapping[int, str]
) -> TextInput:
    whole = continued(encoder, begun, new)
    generated = len(begun) if new else None
    axis = axis_of(encoder, whole, segment_b=segment_b, generated=generated, typed=typed)
    return TextInput(whole, axis)


def _most(loaded: LoadedModel, anatomy: Anatomy, request: ReadingRequest) -> int:
    if request.too_long not in TOO_LONG:
        raise OptionError(f"--too-long {request.too_long!r} is not known; choose one of {', '.join(TOO_LONG)}")
    if request.generate < 0:
        raise OptionError(f"--generate {request.generate} is not a number of tokens; expected 0 or more")
    most = longest_input(loaded, anatomy)
    if request.max_length is None:
        return most
    if request.max_length > most:
        raise OptionError(
            f"--max-length {request.max_length} is more than {loaded.name} can read; expected at most {most} tokens"
        )
    return request.max_length


def generate(loaded: LoadedModel, anatomy: Anatomy, inputs: Mapping[str, Tensor], *, tokens: int) -> list[int]:
    """Return the ids of the tokens that the model writes after its input, greedily, with its own `generate`.

    Args:
        loaded: a model with a head that predicts tokens.
        anatomy: result of `examine`.
        inputs: the model's arguments for one input without padding; for an encoder-decoder including the decoder's
            input so far.
        tokens: maximum number of tokens to write; fewer are returned if the model ends its text.

    Raises:
        ModelError: the model cannot generate text.
    """
    model: Any = loaded.model
    reads_on = anatomy.encoder_decoder or all(part.kind == "decoder" for part in anatomy.layout)
    if not reads_on:
        raise ModelError(
            f"{loaded.name} reads a text in both directions and cannot write one; choose a decoder such as GPT-2, "
            "or an encoder-decoder such as T5, or leave out --generate"
        )
    if not (hasattr(model, "can_generate") and model.can_generate()):
        raise ModelError(
            f"{type(model).__name__} has no head to write text with; load the model with AutoModelForCausalLM or "
            "AutoModelForSeq2SeqLM"
        )
    arguments = {name: inputs[name] for name in ("input_ids", "attention_mask", "decoder_input_ids") if name in inputs}
    before = arguments["decoder_input_ids" if anatomy.encoder_decoder else "input_ids"].shape[1]
    pad = loaded.tokenizer.pad_token_id
    # transformers allocates T5's cache by the encoder's layers, so a model with more decoder layers generates without.
    decoders = getattr(model.config, "num_decoder_layers", None)
    with quiet_libraries(), warnings.catch_warnings(), eager_evaluation(model), torch.inference_mode():
        warnings.simplefilter("ignore")  # about sampling options in the checkpoint, which greedy search ignores
        out = model.generate(
            **arguments,
            max_new_tokens=tokens,
            do_sample=False,
            num_beams=1,
            use_cache=decoders is None or decoders <= model.config.num_hidden_layers,
            pad_token_id=0 if pad is None else pad,
        )
    return [int(i) for i in out[0, before:]]
