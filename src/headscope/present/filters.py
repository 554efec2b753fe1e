"""Filters of the templates: numbers, counts, lists, losses and heads as text."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import jinja2

from headscope.encoding.choices import LABELS, LOSS_TASKS
from headscope.present.claim_rules import Comparison
from headscope.present.linked_sentences import MOST_LISTED, HeadRef, listed, measured
from headscope.present.numbers import (
    accuracy_words,
    formatted,
    nats,
    offset_words,
    p_words,
    percent,
    span,
    two_decimals,
    with_ends,
)
from headscope.present.words import capital, either, found_words, join, join_first, layer_list, plain, short
from headscope.visible import count


def loss_sentence(facts: Mapping[str, Any], how: str, noun: str = "input") -> str:
    """Return `The loss is that of masked tokens: 3.46 nats a token, over 96 inputs, 864 tokens predicted.`

    Args:
        facts: the manifest's entry on the loss: its name, mean, number of segments and of targets.
        how: words between mean and numbers.
        noun: noun for segments.
    """
    unit, *targets = ("text", "class", "classes") if facts["loss"] == LABELS else ("token", "token")
    numbers = f"{count(int(facts['segments']), noun)}, {count(int(facts['targets']), *targets)} predicted"
    return f"The loss is that of {LOSS_TASKS[facts['loss']]}: {facts['loss_mean']:.2f} nats a {unit} {how} {numbers}."


CONTINUED = "\x1e"
"""Written by `{{ continued }}`: begins a sentence that adds to the one before it."""
_START, _END = "\x02", "\x03"
_REFERENCE = re.compile(f"{_START}(head|mark),(.*?){_END}")
_OURS = str.maketrans({_START: "␂", _END: "␃", CONTINUED: "␞"})


@dataclass(frozen=True)
class Mark:
    """A mark of a chart or table, repeated in its caption in the color of its CSS class."""

    text: str
    class_: str


class Marked(str):
    """Text of a filter that contains references to heads."""

    __slots__ = ()


def finalize(value: Any) -> Any:
    """Return a value as the template prints it: heads as references, foreign text without our control characters.

    Raises:
        TypeError: the value is None, which a template must not print.
        UndefinedError: the value is an undefined name.
    """
    if isinstance(value, HeadRef):
        return _reference(value)
    if value is None:
        raise TypeError("a template printed None; expected a number, text or a head: test the value before printing it")
    if isinstance(value, jinja2.Undefined):
        str(value)  # raises the error that names it
    return value if isinstance(value, Marked) else str(value).translate(_OURS)


def _reference(head: HeadRef) -> Marked:
    return Marked(f"{_START}head,{head.kind},{head.layer},{head.head},{head.text}{_END}")


def parts_of(text: str) -> list[str | HeadRef | Mark]:
    """Return text, heads and marks of printed text, in order."""
    parts: list[str | HeadRef | Mark] = []
    position = 0
    for match in _REFERENCE.finditer(text):
        parts.append(text[position : match.start()])
        what, fields = match.groups()
        if what == "mark":
            parts.append(Mark(*fields.split(",")))
        else:
            kind, layer, head, name = fields.split(",")
            parts.append(HeadRef(kind, int(layer), int(head), name))
        position = match.end()
    return [part for part in (*parts, text[position:]) if part]


def number_of(value: int | Sized) -> int:
    """Return a number, or the number of items of a collection."""
    return len(value) if isinstance(value, Sized) else int(value)


def _heads(heads: Sequence[HeadRef], most: int = MOST_LISTED) -> Marked:
    return Marked("".join(part if isinstance(part, str) else _reference(part) for part in listed(heads, most=most)))


def _share_of(part: int | Sized, whole: int | Sized, noun: str) -> str:
    some, of = number_of(part), number_of(whole)
    if some == of:
        return f"the only {noun}" if of == 1 else f"all {count(of, noun)}"
    return f"{some:,} of {count(of, noun)}"


def _interval_columns(field: str, title: str, form: str, *, n: bool = False) -> dict[str, tuple[str, str]]:
    columns = {title: (field, form), "95% interval": (field, f"{form}_ends")}
    return {**columns, "n": (field, "n")} if n else columns


def _minus(text: str) -> str:
    """Return numbers with true minus signs; a range or an exponent keeps its hyphen."""
    return re.sub(r"(?<![\w.])-(?=[\d.])", "−", text)


FILTERS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        # `{{ f.heads | heads }}`: 1-3, 2-10 and 4-1, or the first three and the number of the others
        "heads": _heads,
        # `{{ f.heads | counted("head") }}`: 12 heads
        "counted": lambda value, noun: count(number_of(value), noun),
        # `{{ treebank | counts_of("sentence", "word") }}`: the counts that a part of the manifest has, with their nouns
        "counts_of": lambda of, *nouns: [count(int(of[f"{noun}s"]), noun) for noun in nouns if f"{noun}s" in of],
        # `{{ f.heads | one("is", "are") }}`: the verb for one head or several
        "one": lambda value, single, several: single if number_of(value) == 1 else several,
        # `{{ f.beating | of(f.tested, "relation") }}`: 3 of 12 relations, all 12 relations
        "of": _share_of,
        # `{{ "●" | mark("key-syntax") }}`: a mark of the chart, in a caption
        "mark": lambda text, class_: Marked(f"{_START}mark,{text},{class_}{_END}"),
        "number": lambda value: f"{number_of(value):,}",
        "total": sum,
        "percent": percent,
        "decimals": lambda value, digits: formatted(value, f".{digits}f"),
        # foreign text: control characters visible, limited in length
        "plain": plain,
        "joined": lambda names: join(list(names)),
        "capital": capital,
        "either": lambda names: either(list(names)),
        "first_three": lambda names: join_first(list(names), most=MOST_LISTED),
        # a `Cell` with its interval: 75.2% (72.9 to 77.4); `long` adds that it is the 95% interval
        "accuracy": lambda cell, long=False: accuracy_words(cell, long=long),
        # a difference as a `Cell`, with its interval: +3.4 points (1.7 to 5.2)
        "points": lambda cell, signed=True: Comparison.of(cell).points(signed=signed),
        "offset": offset_words,
        "relation": short,
        "found": found_words,
        # the interval of a divergence: 0.091 to 0.093
        "span": lambda cell: span(cell.ci_low, cell.ci_high),
        # p = 0.0001
        "p": p_words,
        # a correlation as a `Cell`, with its interval: 0.76 (0.75 to 0.77)
        "correlation": lambda cell: with_ends(cell, two_decimals),
        # a `Cell` of a statistic with its interval: 98% (95% interval 97 to 98)
        "measured": lambda cell, statistic, long=True: "".join(measured(cell, statistic, long=long)),
        # the text of a macro, which may name heads
        "macro": Marked,
        # `{{ f.layers | layers }}`: layer 3, layers 2 to 5, or the first three and the number of the others
        "layers": lambda layers: layer_list(layers, most=MOST_LISTED),
        # `{{ manifest.importance | loss("over", "input") }}`: the task of a loss, its mean and its numbers of targets
        "loss": loss_sentence,
        # `{{ "loss" | interval_columns("nats", "nats") }}`: columns of a table with a number, its interval and its n
        "interval_columns": _interval_columns,
        "length": len,
        "two_decimals": two_decimals,
        # a number of nats, 0.092; and the interval of a `Cell` of nats, ` (95% interval 0.091 to 0.093)`
        "nats": lambda value: _minus(nats(value)),
        "interval": lambda cell: (
            _minus(f" (95% interval {span(cell.ci_low, cell.ci_high)})") if cell.has_interval else ""
        ),
        # a share as a `Cell`: the ends of its interval, 72 to 77; and the number of cases that it is the share of
        "percent_ends": lambda cell: _minus(f"{100 * cell.ci_low:.0f} to {100 * cell.ci_high:.0f}"),
        "hits": lambda cell: round(cell.value * cell.n),
    }
)
