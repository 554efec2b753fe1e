"""What things are called in the report: statistics, roles, heads, percent. One place, so that text and tables agree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headscope.figures.labels import shorten, visible

SHARES = (
    "previous",
    "next",
    "current",
    "cls",
    "sep",
    "punctuation",
    "sep_to_sep",
    "other_to_sep",
    "max_weight",
)
STATISTICS = (
    "previous", "next", "current", "cls", "sep", "punctuation", "sep_to_sep", "other_to_sep",
    "entropy", "entropy_cls", "max_weight",
)  # fmt: skip
ROLES = ("previous", "next", "cls", "sep", "punctuation", "broad", "mixed")


@dataclass(frozen=True)
class Words:
    """The names of statistics and roles, for a model whose special tokens may be called anything."""

    statistics: Mapping[str, str]
    roles: Mapping[str, str]
    cls: str
    sep: str


def words_for(manifest: Mapping[str, Any]) -> Words:
    """Take the special tokens' names from the manifest; `[CLS]` and `[SEP]` where it names none."""
    special = manifest["signature"]["model"].get("special", {"cls": "[CLS]", "sep": "[SEP]"})
    cls = special.get("cls") or "the first token"
    sep = special.get("sep") or "the separator"
    statistics = {
        "previous": "previous token",
        "next": "next token",
        "current": "current token",
        "cls": cls,
        "sep": sep,
        "punctuation": "period or comma",
        "sep_to_sep": f"{sep} to {sep}",
        "other_to_sep": f"other to {sep}",
        "entropy": "entropy",
        "entropy_cls": f"entropy from {cls}",
        "max_weight": "largest weight",
    }
    roles = {name: statistics[name] for name in ("previous", "next", "cls", "sep", "punctuation")}
    return Words(statistics=statistics, roles=roles | {"broad": "broad", "mixed": "mixed"}, cls=cls, sep=sep)


def capital(text: str) -> str:
    """Return `text` with its first letter a capital and the rest as it was."""
    return text[:1].upper() + text[1:]


def head_name(kind: str, layer: int, head: int, *, several: bool) -> str:
    """Return `head 1-3`, or `decoder head 1-3` where the model has several kinds of attention."""
    return f"{kind} head {layer}-{head}" if several else f"head {layer}-{head}"


def anchor(kind: str, layer: int, head: int) -> str:
    """Return the address of a head's card within the page, without the `#`."""
    return f"{kind}-{layer}-{head}"


def percent(share: float, decimals: int | None = None) -> str:
    """Return a fraction as `98%`, `1.3%` or `under 0.1%`: no decimals from 10% up, one below, unless told."""
    if decimals is None:
        decimals = 0 if abs(share) >= 0.0995 or share == 0 else 1
    shown = f"{100 * share:.{decimals}f}%"
    return f"under {10.0**-decimals:.{decimals}f}%" if share > 0 and float(shown[:-1]) == 0 else shown


def amount(value: float, statistic: str, decimals: int | None = None) -> str:
    """Return a value as the report's sentences write it: percent for shares, `3.86 nats` for entropies."""
    return percent(value, decimals) if statistic in SHARES else f"{value:.2f} nats"


def interval_decimals(low: float, high: float) -> int:
    """Return how many decimals the percents of an interval need: one below 10% or where none would show no width."""
    return 1 if low < 0.0995 or f"{100 * low:.0f}" == f"{100 * high:.0f}" else 0


def interval(low: float, high: float, statistic: str) -> str:
    """Return `97 to 98` or, where whole percents would show no width, `97.6 to 97.9`; empty without an interval."""
    if math.isnan(low) or math.isnan(high):
        return ""
    if statistic not in SHARES:
        return f"{low:.2f} to {high:.2f}"
    decimals = interval_decimals(low, high)
    return f"{100 * low:.{decimals}f} to {100 * high:.{decimals}f}"


def table_number(value: float, statistic: str) -> str:
    """Return a value as tables print it: percent with one decimal without its sign, nats with two, `–` for null."""
    if math.isnan(value):
        return "–"
    return f"{100 * value:.1f}" if statistic in SHARES else f"{value:.2f}"


def join(parts: list[str]) -> str:
    """Return `a`, `a and b` or `a, b and c`."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def layer_list(layers: list[int]) -> str:
    """Return `layer 3`, `layers 2 to 5` or `layers 2, 3 and 6`."""
    if len(layers) == 1:
        return f"layer {layers[0]}"
    if len(layers) > 2 and layers == list(range(layers[0], layers[-1] + 1)):
        return f"layers {layers[0]} to {layers[-1]}"
    return f"layers {join([str(layer) for layer in layers])}"


def count(number: int, noun: str) -> str:
    """Return `1 head` or `3,072 heads`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def plain(value: object) -> str:
    """Return text of the run fit to be shown: visible, and not endless."""
    written = str(value)
    return shorten(visible(written[:2000]), 600) if written else ""
