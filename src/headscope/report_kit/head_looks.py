"""Attention targets of heads, as colored on pages: the categories, and the category of each head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

RESTS, BROAD, UNEXPLAINED = "cls", "broad", "mixed"
"""Colors of heads that attend to the sink, that attend broadly, and that are not explained."""


@dataclass(frozen=True, kw_only=True)
class HeadLook:
    """The attention target of a head.

    Attributes:
        color: its category, by the name of its color in the palette.
        explained: the predicted share of its non-sink attention; NaN if that was not measured.
        sink: the share of its attention on the sink.
    """

    color: str
    explained: float
    sink: float


@dataclass(frozen=True, kw_only=True)
class Look:
    """A category of attention targets.

    Attributes:
        color: its name in the palette.
        label: label on pages, `nearby tokens`; `{cls}` is replaced by the name of the first token.
        search_words: words that find its heads in the atlas.
    """

    color: str
    label: str
    search_words: Sequence[str] = ()


_ROWS = (
    Look(color="previous", label="previous token", search_words=("previous", "preceding", "before", "backward")),
    Look(color="next", label="next token", search_words=("next", "following", "after", "forward")),
    Look(color="position", label="nearby tokens", search_words=("nearby", "near", "local", "distance", "position")),
    Look(color="copies", label="copies of the token", search_words=("copy", "copies", "duplicate", "same token")),
    Look(
        color="after_copy",
        label="after an earlier copy",
        search_words=("induction", "after a copy", "after an earlier copy"),
    ),
    Look(
        color="period_comma",
        label="separators and punctuation",
        search_words=("punctuation", "period", "comma", "separator", "delimiter"),
    ),
    Look(color="word", label="pieces and words", search_words=("piece", "pieces", "word", "subword")),
    Look(
        color="content",
        label="kinds of words",
        search_words=("noun", "nouns", "verb", "verbs", "content", "kinds of words", "frequent", "rare"),
    ),
    Look(color="added", label="features of your own"),
    Look(
        color=RESTS,
        label="rests on {cls}",
        search_words=("cls", "sep", "first token", "sink", "attention sink", "rest", "resting", "no-op"),
    ),
    Look(color=BROAD, label="broad", search_words=("broad", "spread", "uniform", "everywhere", "bag of words")),
    Look(color=UNEXPLAINED, label="unexplained", search_words=("unexplained", "unclear", "mixed", "unknown")),
)
LOOKS: Mapping[str, Look] = MappingProxyType({look.color: look for look in _ROWS})
"""The categories by color, in the order in which they are listed."""
