"""The structure of a model's attention: its kinds, layers and heads, and the layer of each call in a forward pass."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

GUIDED = "guided_heads"
"""The field of a configuration: `{"heads": ["1-1", "2-8"], "share": 0.2}`, guided in this first share."""
_HEAD = re.compile(r"[1-9]\d{0,5}-[1-9]\d{0,5}")
Path = Literal["fused", "eager", "fallback"]
Together = Literal["padded", "equal", "alone"]


@dataclass(frozen=True)
class KindLayout:
    """The number of heads of a kind: `layers` layers of `heads` heads.

    Attributes:
        sinks: 0-based positions of the layers with a learned sink, within the kind.
        model_layers: 1-based number of each layer among all layers of the model, if some of these have no attention
            (hybrids); empty if the numbers are the same.
    """

    kind: str
    layers: int
    heads: int
    sinks: tuple[int, ...] = field(default=(), repr=False)
    model_layers: tuple[int, ...] = field(default=(), repr=False, compare=False)

    def record(self) -> dict[str, Any]:
        """Return the layout for JSON; entries that few models have are left out if they are empty."""
        optional = {name: list(value) for name, value in (("sinks", self.sinks), ("own", self.model_layers)) if value}
        return {"kind": self.kind, "layers": self.layers, "heads": self.heads, **optional}


@dataclass(frozen=True)
class CallSite:
    """The kind and layer of a call in a forward pass, and the key/value group of each head.

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
            `fallback` (`output_attentions=True`: the model never uses the interface).
        calls: for the paths with the tap, the layer of each call of a forward pass, in order; None for a call outside
            the layout (its keys are not tokens).
        parameters: the names of the arguments that the model takes.
        encoder_decoder: whether the model has both an encoder and a decoder.
        decoder_start: id with which the decoder of an encoder-decoder begins.
        decoder_wraps: whether that decoder reads the last token of a text first (mBART: the language code), instead of
            `decoder_start`.
        has_token_types: whether token types distinguish the texts of a pair.
        first_position: position id of a segment's first token (RoBERTa counts from its pad id on).
        together: inputs that may share a batch: any, `padded` to one length; only those of `equal` length, if padding
            changes a model's numbers (convolutions reach into it); or none (`alone`), if the rest of a batch does.
        map_layers: for each kind, the layers of `output_attentions=True` that are maps of all keys.
        path_note: how attention is computed, in a sentence, if it is not the fused path in the model's precision.
        notes: parts of the model's attention that are not read.
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
        """The id that is put before a decoder's text when it is shifted right; None for the text's last token."""
        return None if self.decoder_wraps else self.decoder_start


def guided_heads(config: Any) -> dict[str, Any] | None:
    """Return the field if it is present and valid; a configuration may come from anywhere.

    Args:
        config: configuration of a transformers model.
    """
    field = getattr(config, GUIDED, None)
    heads, share = (field.get("heads"), field.get("share")) if isinstance(field, dict) else (None, None)
    if not isinstance(heads, list) or not isinstance(share, float) or not 0 < share <= 1:
        return None
    named = [head for head in heads if isinstance(head, str) and _HEAD.fullmatch(head)]
    return {"heads": named, "share": share} if named and len(named) == len(heads) else None
