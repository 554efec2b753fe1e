"""Behaviors in words and as a table of the page, for whichever text they were measured on."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import pandas as pd

from headscope.analyses.behaviors.catalog import Behavior
from headscope.analyses.behaviors.chosen import Shown, heads_of
from headscope.analyses.behaviors.shown import RULE
from headscope.reporting.kit.cells import Cell
from headscope.reporting.kit.linked_sentences import Sentence, listed, named, numbered, sentence
from headscope.reporting.kit.links import head_link
from headscope.reporting.kit.numbers import DASH, accuracy_words, ends, formatted, percent, share
from headscope.reporting.kit.page_rows import Table, scrolled
from headscope.reporting.kit.words import capital, count, either, head_name
from headscope.statistics.confidence import FEWEST_DOCUMENTS
from headscope.statistics.measures import MEASURES
from headscope.views.markup import Html, el

COLUMNS = (
    *("behavior", "head", "of its attention", "uniform", "random weights"),
    *("all documents", "held out", "heads", "rows"),
)
TOKENS_COLUMN = "of the tokens"
"""In place of the third where what is tabulated counts tokens."""
WRITTEN = "of what it writes"


def sentences(shown: Sequence[Shown], topic: str, *, where: str, several: bool) -> list[Sentence]:
    """Say which head shows each behavior, which of them no head shows, and what was not tested.

    Args:
        shown: of one kind of attention.
        topic: of the sentences.
        where: begins them where they need it: `in text`.
        several: whether there are several kinds, so that heads are named with theirs.
    """
    out = [_of_head(one, topic, where=where, several=several) for one in shown if one.heads]
    whose = f"{shown[0].kind} head" if several and shown else "head"
    absent = [one.behavior.name for one in shown if one.tested and not one.heads]
    if absent:
        out.append(
            sentence(topic, f"no {whose} shows {either(absent)} {where}: for none does the share lie {RULE}.")
        )
    untested = [one.behavior.name for one in shown if not one.tested]
    if untested:
        out.append(
            sentence(
                topic,
                f"whether a {whose} shows {either(untested)} {where} was not tested, which needs at least "
                f"{FEWEST_DOCUMENTS} documents.",
            )
        )
    return out


def written_sentence(shown: Sequence[Shown], topic: str, *, where: str, several: bool) -> list[Sentence]:
    """Say of how many behaviors that heads show what they write does not bear it out; nothing where it is not known.

    Args:
        shown, topic, where, several: as `sentences` takes them.
    """
    known = [one for one in shown if one.written is not None and one.heads]
    if not known:
        return []
    whose = f"{known[0].kind} heads" if several else "heads"
    number, total = sum(len(one.unwritten) for one in known), sum(len(one.heads) for one in known)
    if not number:
        return [sentence(topic, f"{where}, {whose} write of what they show by where they look.")]
    most = max(known, key=lambda one: len(one.unwritten))
    verb = "is" if number == 1 else "are"
    often = "" if number == len(most.unwritten) else "most often "
    return [
        sentence(
            topic,
            f"{where}, {number:,} of {count(total, 'behavior')} that {whose} show by where they look {verb} not in "
            "what they write (each weight times the length of what is written of its token): "
            f"{often}{most.behavior.label}, with {len(most.unwritten):,} of {len(most.heads):,}, ",
            *listed(numbered(most.kind, layer, head) for layer, head in most.unwritten),
            ".",
        )
    ]


def _of_head(one: Shown, topic: str, *, where: str, several: bool) -> Sentence:
    chance = (
        ""
        if one.control is None
        else f", and a head chosen in the same way with random weights {percent(one.control.mean)}"
    )
    number = count(one.of, f"{one.kind} head" if several else "head")
    verb = "shows" if len(one.heads) == 1 else "show"
    head = named(one.kind, one.layer, one.head, several=several)
    value, uniform = accuracy_words(one.own, long=True), percent(one.own.uniform)
    ending = f"{chance}; {len(one.heads):,} of {number} {verb} it (false discovery rate 5%)."
    apart = ", on documents that did not choose it" if not isnan(one.share) else ""
    if one.behavior.counts_tokens:
        said = f"attends most to {one.behavior.on} at {value} of the tokens{apart}, where a random key would "
        said += "be right at"
    else:
        said = f"puts {value} of its attention on {one.behavior.on}{apart}, where uniform attention would put"
    return sentence(topic, f"{where}, ", head, f" {said} {uniform}{ending}")


def best_heads(shown: Sequence[Shown], *, name: str, several: bool) -> Html:
    """Tabulate the head chosen for each behavior, beside what it stands against.

    Args:
        shown: of one kind of attention.
        name: id of the table.
        several: whether there are several kinds of attention.
    """
    written = any(one.written is not None for one in shown)
    of = TOKENS_COLUMN if all(one.behavior.counts_tokens for one in shown) else COLUMNS[2]
    titles = [*COLUMNS[:2], of, *([WRITTEN] if written else []), *COLUMNS[3:]]
    header = el("tr", [el("th", title, scope="col") for title in titles])
    table = el(
        "table",
        el("thead", header),
        el("tbody", [_row(one, several, written=written) for one in shown]),
        id=name,
        class_="relations",
    )
    return scrolled(table, "The head chosen for each behavior")


def _row(one: Shown, several: bool, *, written: bool) -> Html:
    often = f"chosen in {percent(one.share, 0)} of halves" if not isnan(one.share) else "chosen on all of it"
    control, spread = DASH, ""
    if one.control is not None:
        control = share(one.control.mean)
        if one.control.seeds > 1:
            spread = f"{share(one.control.lowest)}–{share(one.control.highest)}"
    over = f"{len(one.heads):,} of {one.of:,}" if one.tested else "not tested"
    cells = (
        (head_link(one.kind, one.layer, one.head, several), often),
        (share(one.own.value), ends(one.own)),
        *([_written(one.written)] if written else []),
        (share(one.own.uniform), ""),
        (control, spread),
        (share(one.every.value), ends(one.every)),
        (share(one.held_out.value), ends(one.held_out)),
        (over, ""),
        (f"{one.own.n:,}", ""),
    )
    numbers = [el("td", value, el("small", below) if below else None) for value, below in cells]
    return el(
        "tr", el("th", capital(one.behavior.name), el("small", one.behavior.label), scope="row"), numbers
    )


def _written(cell: Cell | None) -> tuple[str, str]:
    return (DASH, "") if cell is None else (share(cell.value), ends(cell))


CAPTION = (
    "Percent of attention (for retrieval: of tokens), with its 95% interval. The head is the one that halves of the "
    "documents choose most often, on documents that did not choose it (cross-fitted); all documents: the head on all, "
    "too high where heads are nearly equal; held out: what such a choice is worth on the other halves; random weights: "
    "the same selection on models whose weights are random (mean and range over them). Uniform: attention spread "
    "evenly over the visible keys, in the same rows (for retrieval: a key drawn at random). The last columns count the "
    f"heads that show it, {RULE}, and the rows in which it can occur."
)  # fmt: skip


WRITTEN_CAPTION = (
    "Of what it writes: the same with each weight times the length of what the head writes of the token, each row "
    "divided by its sum; a head whose keys are worth nothing may look where it writes nothing. What a head shows is "
    "decided by where it looks."
)  # fmt: skip


def apart(
    heads: pd.DataFrame, kind: str, shown: Sequence[Shown], *, name: str, several: bool
) -> Table | None:
    """Tabulate the heads that show a behavior of which they write little; None where there is none.

    Args:
        heads: every head's numbers, with `model`.
        kind: of attention.
        shown: of that kind.
        name: id of the table.
        several: whether there are several kinds of attention.
    """
    place = ["behavior", "layer", "head"]
    values = [heads_of(heads, kind, measure).set_index(place)["value"] for measure in MEASURES]
    rows = [
        (
            capital(head_name(kind, layer, head, several=several)),
            capital(one.behavior.label),
            *(share(float(value[one.behavior.name, layer, head])) for value in values),
        )
        for one in shown
        for layer, head in one.unwritten
    ]
    if not rows:
        return None
    return Table(
        summary=f"Table: {count(len(rows), 'time')} that what is written does not show what is looked at",
        groups=(),
        header=("head", "shows", f"{COLUMNS[2]}, %", f"{WRITTEN}, %"),
        rows=tuple(rows),
        name=name,
        words=(1,),
    )


def every_head(
    heads: pd.DataFrame, kind: str, behaviors: Sequence[Behavior], *, name: str, several: bool
) -> Table:
    """Tabulate every head's behaviors, in percent of attention, or tokens.

    Args:
        heads: every head's numbers, with `model`.
        kind: of attention.
        behaviors: which; one that cannot occur is left out.
        name: id of the table.
        several: whether there are several kinds of attention.
    """
    own = heads_of(heads, kind)
    own = own[own["n"] > 0]
    known = set(own["behavior"])
    present = [one for one in behaviors if one.name in known]
    wide = own.pivot(index=["layer", "head"], columns="behavior", values="value")
    rows = [
        (
            capital(head_name(kind, int(layer), int(head), several=several)),
            *(_number(values[one.name], one) for one in present),
        )
        for (layer, head), values in zip(wide.index, wide.to_dict("records"), strict=True)
    ]
    whose = f" ({kind})" if several else ""
    return Table(
        summary=f"Table: every head{whose}, behavior by behavior",
        groups=(),
        header=("head", *(f"{one.label}, {'tokens' if one.unit == 'tokens' else '%'}" for one in present)),
        rows=tuple(rows),
        name=name,
    )


def _number(value: float, one: Behavior) -> str:
    return formatted(value, ".1f") if one.unit == "tokens" else share(value)
