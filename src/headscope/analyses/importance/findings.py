"""What gradient importance says of the tokens that heads rest on, by both of its measures.

A gradient says how much the loss would change with a weight, and may be small where weights are large anyway; times the
weight it says how much what is attended to counts now. The two may disagree, so that no sentence rests on one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from headscope.analyses.importance.figure import MEASURES, class_series
from headscope.reporting.kit.cells import Cell, cell_of, records
from headscope.reporting.kit.claim_rules import WHERE, stands_out, target
from headscope.reporting.kit.comparing import Comparison
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.linked_sentences import Sentence, sentence
from headscope.reporting.kit.measured import Measured
from headscope.reporting.kit.numbers import percent
from headscope.reporting.kit.report_parts import Context
from headscope.reporting.kit.words import layer_list

TOPIC = "importance"
TESTED = "95% intervals of the paired differences"
UNTESTED = "as measured, not tested: an interval of a difference needs at least 10 documents"
_BY = {"gradient": "the gradient alone", "weight_times_gradient": "weight × gradient"}
_ENDINGS = {
    frozenset({"less", "more"}): "; the two measures disagree",
    frozenset({"less", "even"}): "; only one of the two measures shows a difference",
    frozenset({"more", "even"}): "; only one of the two measures shows a difference",
}


@dataclass(frozen=True)
class Compared:
    """A class of token beside other tokens in one layer, by one measure; `difference` is paired, over documents."""

    own: float
    other: float
    difference: Cell

    @property
    def verdict(self) -> str:
        """`less`, `more`, or `even` where the interval holds 0; as measured where there is no interval."""
        gap = Comparison.of(self.difference)
        if gap.verdict == "untested":
            gap = Comparison(gap.difference, gap.difference, gap.difference)
        return "even" if gap.verdict == "same" else gap.verdict


def importance_findings(about: Context) -> list[Sentence]:
    """Say for each class of token that layers rest on how much less or more the loss depends on attention to it.

    A layer is spoken of where its average attention to the class stands out, and where the whole interval of the
    difference to other tokens lies on one side for at least one measure. A sentence gives both measures.
    """
    if any(about.run.table(name) is None for name in ("importance", "importance_differences")):
        return []
    return [
        made
        for kind in about.kinds
        for name in ("cls", "sep", "punctuation")
        for made in _resting(about, kind, name)
    ]


def compared(run: Measured, key_class: str, kind: str) -> dict[int, tuple[Compared, ...]]:
    """Compare a class with other tokens, layer by layer: one comparison a measure, in the order of `MEASURES`."""
    table = run.table("importance")
    if table is None:
        return {}
    by_measure = []
    for measure in MEASURES:
        own, other = (layer_means(table, measure, name, kind) for name in (key_class, "other"))
        apart = layer_differences(run.table("importance_differences"), measure, key_class, kind)
        by_measure.append(
            {
                layer: Compared(own[layer].value, other[layer].value, apart[layer])
                for layer in sorted({*own} & {*other} & {*apart})
            }
        )
    layers = [layer for layer in by_measure[0] if all(layer in each for each in by_measure)]
    return {layer: tuple(each[layer] for each in by_measure) for layer in layers}


def layer_means(table: pd.DataFrame, measure: str, key_class: str, kind: str) -> dict[int, Cell]:
    """Return the layers' means of one measure and class, by 1-based layer; without those that have no value."""
    means = class_series(table, measure, key_class, kind=kind).means
    return {int(row["layer"]): cell_of(row, "value") for row in records(means)}


def layer_differences(table: pd.DataFrame | None, measure: str, key_class: str, kind: str) -> dict[int, Cell]:
    """Return a class less other tokens by one measure, by 1-based layer; without those that have no value."""
    cells = {
        int(row["layer"]): cell_of(row, "difference")
        for row in records(table)
        if (row["kind"], row["measure"], row["key_class"]) == (kind, measure, key_class)
    }
    return {layer: cell for layer, cell in cells.items() if cell.exists}


def _resting(about: Context, kind: Kind, name: str) -> list[Sentence]:
    words, several = about.words, about.several
    known = compared(about.run, name, kind.name)
    resting = {n: cell.value for n, cell in kind.each_layer(name) if stands_out(cell) and n in known}
    groups: dict[tuple[bool, tuple[str, ...]], list[int]] = {}
    for layer in resting:
        verdicts = tuple(one.verdict for one in known[layer])
        if set(verdicts) != {"even"}:
            tested = all(one.difference.has_interval for one in known[layer])
            groups.setdefault((tested, verdicts), []).append(layer)
    out = []
    # What holds of most layers comes first.
    for (tested, verdicts), layers in sorted(groups.items(), key=lambda item: (-len(item[1]), item[1])):
        where = layer_list(layers) + (f" of {WHERE[kind.name]}" if several else "")
        counts = [
            f"{_times([known[layer][place] for layer in layers])} by {_BY[measure]}"
            for place, measure in enumerate(MEASURES)
        ]
        one = sentence(
            TOPIC,
            f"in {where}, where the average head puts {_shares([resting[n] for n in layers])} of its attention on "
            f"{target(name, words)}, a weight there counts for the loss, compared with one on other tokens, "
            f"{(' and ' if len(set(verdicts)) == 1 else ' but ').join(counts)} ({TESTED if tested else UNTESTED})"
            f"{_ENDINGS.get(frozenset(verdicts), '')}.",
        )
        out.append(Sentence(one.topic, one.parts, kind.name if several else ""))
    return out


def _times(layers: Sequence[Compared]) -> str:
    """Say how many times less or more, of layers of one verdict."""
    verdict = layers[0].verdict
    if verdict == "less":
        return f"{_range([one.other / one.own for one in layers])} times less"
    times = _range([one.own / one.other for one in layers])
    return f"{times} times more" if verdict == "more" else f"not shown to differ ({times} times as much)"


def _shares(values: Sequence[float]) -> str:
    ends = [percent(min(values)), percent(max(values))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def _range(values: Sequence[float]) -> str:
    shown = [f"{value:.{0 if value >= 9.95 else 1 if value >= 1.095 else 2}f}" for value in sorted(values)]
    return shown[0] if shown[0] == shown[-1] else f"{shown[0]} to {shown[-1]}"
