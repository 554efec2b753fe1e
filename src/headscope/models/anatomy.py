"""What a model's attention is made of: its kinds, layers and heads, and whose each call of a forward pass is."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Path = Literal["fused", "eager", "fallback"]
Together = Literal["padded", "equal", "alone"]


@dataclass(frozen=True)
class KindLayout:
    """How many heads of a kind there are: `layers` layers of `heads` heads.

    Attributes:
        sinks: 0-based positions of the layers with a learned sink, within the kind.
        model_layers: 1-based number that each layer has among all of the model's, where some of these have no attention
            (hybrids); empty where they are counted alike.
    """

    kind: str
    layers: int
    heads: int
    sinks: tuple[int, ...] = field(default=(), repr=False)
    model_layers: tuple[int, ...] = field(default=(), repr=False, compare=False)

    def record(self) -> dict[str, Any]:
        """Return it as JSON has it; what few models have is left out where there is none."""
        optional = {name: list(value) for name, value in (("sinks", self.sinks), ("own", self.model_layers)) if value}
        return {"kind": self.kind, "layers": self.layers, "heads": self.heads, **optional}


@dataclass(frozen=True)
class CallSite:
    """Which layer of which kind a call of a forward pass belongs to, and the key/value group of each head.

    Attributes:
        sink: whether the layer has a learned sink.
    """

    kind: str
    layer: int
    groups: tuple[int, ...]
    sink: bool = False


@dataclass(frozen=True)
class Anatomy:
    """A model's attention.

    Attributes:
        layout: the kinds of attention, encoder first.
        path: `fused` (own scores and softmax), `eager` (the model's own function through the tap) or
            `fallback` (`output_attentions=True`: the model never asks the interface).
        calls: for the tap's paths, whose attention each call of a forward pass is, in order; None for one that is
            no layer's of the layout (its keys are no tokens).
        parameters: the names of the arguments that the model takes.
        encoder_decoder: whether the model has both an encoder and a decoder.
        decoder_start: the id a decoder with an encoder begins with.
        decoder_wraps: whether that decoder reads the last token of a text first (mBART: the language code), instead of
            `decoder_start`.
        has_token_types: whether texts of a pair are told apart by token types.
        first_position: the position id of a segment's first token (RoBERTa counts from its pad id on).
        together: which inputs may share a batch: any, `padded` to one length; those of `equal` length alone, where
            padding changes a model's numbers (convolutions reach into it); or none, where the rest of a batch does.
        map_layers: of each kind, which of the layers that `output_attentions=True` gives are maps of all keys.
        path_note: how attention is computed, in a sentence, where it is not the fused path in the model's precision.
        notes: what of the model's attention is not read.
    """

    layout: tuple[KindLayout, ...]
    path: Path
    calls: tuple[CallSite | None, ...]
    parameters: frozenset[str]
    encoder_decoder: bool
    decoder_start: int | None
    has_token_types: bool
    first_position: int = 0
    decoder_wraps: bool = False
    together: Together = "padded"
    map_layers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    path_note: str | None = None
    notes: tuple[str, ...] = ()

    @property
    def shift_start(self) -> int | None:
        """The id that is put before a decoder's text as it is shifted right; None for the text's last token."""
        return None if self.decoder_wraps else self.decoder_start
