"""What a model's attention is made of: its kinds, layers and heads, and whose each call of a forward pass is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Path = Literal["fused", "eager", "fallback"]
Together = Literal["padded", "equal", "alone"]


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
        together: which inputs may share a batch: any, `padded` to one length; those of `equal` length alone, where
            padding changes a model's numbers (convolutions reach into it); or none, where the rest of a batch does.
        given: of each kind, which of the layers that `output_attentions=True` gives are maps of all keys.
        notes: what of the model's attention is not read.
    """

    layout: tuple[KindLayout, ...]
    path: Path
    calls: tuple[CallSite, ...]
    parameters: frozenset[str]
    encoder_decoder: bool
    decoder_start: int | None
    has_token_types: bool
    first_position: int = 0
    together: Together = "padded"
    given: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
