"""Behaviors as a terminal shows them: the head chosen for each, and every head's numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL, Behavior
from headscope.analyses.behaviors.chosen import Shown, shown_of
from headscope.analyses.behaviors.shown import RULE
from headscope.analyses.stage_result import StageResult
from headscope.attention.head_id import head_label
from headscope.reporting.kit.numbers import percent_or_hyphen
from headscope.reporting.kit.terminal import Grid

_COLUMNS = (
    *("behavior", "head", "%", "95% interval", "uniform", "control"),
    *("all", "held out", "heads", "rows"),
)
NOTE = (
    "percent of attention (retrieval: of tokens); head: the one that halves of the documents choose most often, on "
    "documents that did not choose it; all: the head on all documents, too high where heads are nearly equal; held "
    "out: what the choice is worth on the other half; uniform: attention spread evenly, in the same rows (retrieval: a "
    f"key drawn at random); control: the same choice with random weights; heads: how many show it, {RULE}"
)


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield the head chosen for each behavior in text."""
    natural = tuple(BEHAVIORS[name] for name in NATURAL)
    yield from chosen_heads(result.tables["behaviors"], result.tables["behaviors_best"], natural)
    yield NOTE


def chosen_heads(
    heads: pd.DataFrame, best: pd.DataFrame, behaviors: Sequence[Behavior]
) -> Iterator[Grid | str]:
    """Yield a row for the head chosen for each behavior, kind by kind, and where it is known what these write."""
    kinds = list(dict.fromkeys(heads["kind"]))
    chosen = [one for kind in kinds for one in shown_of(heads, best, kind, behaviors)]
    several = len(kinds) > 1
    sides = ["left", "left"] + ["right"] * (len(_COLUMNS) - 2)
    yield Grid(list(zip(_COLUMNS, sides, strict=True)), [_row(one, several=several) for one in chosen])
    # A column more would be too wide for most terminals.
    written = [
        f"{f'{one.kind} ' if several else ''}{one.behavior.name} {percent_or_hyphen(one.written.value)}"
        for one in chosen
        if one.written is not None
    ]
    if written:
        yield f"the same of what these heads write: {', '.join(written)}"


def _row(one: Shown, *, several: bool) -> list[str]:
    name = head_label(one.layer, one.head)
    own = one.own
    return [
        one.behavior.name,
        f"{one.kind} {name}" if several else name,
        percent_or_hyphen(own.value),
        f"{100 * own.ci_low:.1f} to {100 * own.ci_high:.1f}" if own.has_interval else "-",
        percent_or_hyphen(own.uniform),
        "-" if one.control is None else percent_or_hyphen(one.control.mean),
        percent_or_hyphen(one.every.value),
        percent_or_hyphen(one.held_out.value),
        f"{len(one.heads):,}" if one.tested else "-",
        f"{own.n:,}",
    ]
