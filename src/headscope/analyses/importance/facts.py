"""Gradient importance: whether the loss depends less or more on attention to sink tokens than to other tokens.

The gradient is the change of the loss with a weight, and may be small where weights are large. Weight times gradient
is the present contribution of the attended tokens. The two may disagree, so a claim has both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean
from typing import Any

import pandas as pd

from headscope.analyses.importance.figure import FIGURE, class_names, class_series, importance_panels
from headscope.analyses.importance.tables import GATE, KEY_CLASSES, MEASURES
from headscope.present.blocks import Row
from headscope.present.cells import Cell, cell_of, records
from headscope.present.claim_rules import Comparison, Verdict, layers_standing_out, target, verdicts
from headscope.present.facts import Fact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import Bars
from headscope.present.numbers import thousandths
from headscope.present.page import Page
from headscope.present.report_parts import Context
from headscope.statistics.inference.significance import LEAST_RATIO

SINKS = KEY_CLASSES[:-1]


@dataclass(frozen=True)
class Compared:
    """A class of token compared with other tokens in a layer, by one measure.

    Attributes:
        value: mean of the measure for the class.
        other: mean of the measure for other tokens.
        difference: class minus other tokens, paired by document.
        side: `less`, `more`, or `even` if a difference is not shown, or too small for a sentence; without an
            interval, the measured side.
    """

    value: float
    other: float
    difference: Cell
    side: str = "even"

    def judged(self, verdict: Verdict) -> Compared:
        """Return the comparison with its side, given its verdict from the test over all comparisons."""
        low, high = sorted((self.value, self.other))
        measured = "more" if self.value > self.other else "less"
        sides: Mapping[Verdict, str] = {"same": "even", "untested": measured, "more": "more", "less": "less"}
        return replace(self, side=sides[verdict] if high >= LEAST_RATIO * low else "even")


@dataclass(frozen=True, kw_only=True)
class Loss(Fact):
    """The loss of the gradients; `measured` is the manifest's entry, with its mean and numbers of inputs."""

    measured: Mapping[str, Any]
    topic = "importance_loss"


@dataclass(frozen=True, kw_only=True)
class SinkImportance(Fact):
    """Layers in which a class of token is a sink and the loss depends on it less or more than on others, or both.

    Attributes:
        target: name of the class.
        layers: the layers.
        tested: True if differences have intervals.
        sides: side of each measure, in the order of `MEASURES`; at least one is not `even`.
        ratios: smallest and largest ratio of importance to that of other tokens, by measure; above 1 on either side.
    """

    kind: Kind
    target: str
    layers: Sequence[int]
    tested: bool
    sides: Sequence[str]
    ratios: Mapping[str, tuple[float, float]]
    topic = "importance"
    rank = 70

    def ratio(self, measure: str) -> str:
        """Return the ratios by a measure: `3.4 to 5.2`, or one number if both look equal."""
        low, high = (f"{each:.{0 if each >= 9.95 else 1 if each >= 1.095 else 2}f}" for each in self.ratios[measure])
        return low if low == high else f"{low} to {high}"


def importance_facts(about: Context) -> Iterator[Fact]:
    """Yield the loss, and for each sink the layers in which its importance differs from that of other tokens.

    A layer is included if its average attention to the class stands out, and if the difference to other tokens is
    shown, corrected over all classes and layers, for at least one measure.
    """
    tables, measured = about.run.tables, about.run.manifest.get("importance")
    if "importance" in tables and measured:
        yield Loss(measured=measured)
    if not {"importance", "importance_differences"} <= {*tables}:
        return
    pairs = list(product(about.kinds, SINKS))
    known = [compared(tables, name, kind.name) for kind, name in pairs]
    gaps = [Comparison.of(each.difference) for layers in known for measures in layers.values() for each in measures]
    sides = iter(verdicts(gaps, least=0.0))
    judged = [
        {layer: [each.judged(next(sides)) for each in measures] for layer, measures in layers.items()}
        for layers in known
    ]
    for (kind, name), layers in zip(pairs, judged, strict=True):
        yield from _on_sink(about, kind, name, layers)


def compared(tables: Mapping[str, pd.DataFrame], key_class: str, kind: str) -> dict[int, list[Compared]]:
    """Compare a class with other tokens in each layer, one comparison per measure, in the order of `MEASURES`."""
    by_layer: dict[int, list[Compared]] = {}
    for measure in MEASURES:
        means, others = (layer_means(tables["importance"], measure, name, kind) for name in (key_class, "other"))
        differences = layer_differences(tables["importance_differences"], measure, key_class, kind)
        for layer in sorted({*means} & {*others} & {*differences}):
            each = Compared(means[layer].value, others[layer].value, differences[layer])
            by_layer.setdefault(layer, []).append(each)
    return {layer: measures for layer, measures in by_layer.items() if len(measures) == len(MEASURES)}


def layer_means(table: pd.DataFrame, measure: str, key_class: str | None, kind: str) -> dict[int, Cell]:
    """Return the layers' means of one measure and class, by 1-based layer; layers without a value are left out."""
    means = class_series(table, measure, key_class, kind=kind).means
    return {int(row["layer"]): cell_of(row, "value") for row in records(means)}


def layer_differences(table: pd.DataFrame, measure: str, key_class: str, kind: str) -> dict[int, Cell]:
    """Return the difference of a class to other tokens by one measure, by 1-based layer, where there is a value."""
    rows = table[(table["kind"] == kind) & (table["measure"] == measure) & (table["key_class"] == key_class)]
    cells = {int(row["layer"]): cell_of(row, "difference") for row in records(rows)}
    return {layer: cell for layer, cell in cells.items() if cell.exists}


def _on_sink(about: Context, kind: Kind, name: str, known: Mapping[int, list[Compared]]) -> Iterator[Fact]:
    groups: dict[tuple[bool, tuple[str, ...]], list[int]] = {}
    for layer, _ in layers_standing_out(kind, name):
        sides = tuple(each.side for each in known.get(layer, ()))
        if {*sides} - {"even"}:
            tested = all(each.difference.has_interval for each in known[layer])
            groups.setdefault((tested, sides), []).append(layer)
    on = target(name, about.words)
    # The claim on most layers comes first.
    for (tested, sides), layers in sorted(groups.items(), key=lambda item: (-len(item[1]), item[1])):
        ratios = {}
        for index, (measure, side) in enumerate(zip(MEASURES, sides, strict=True)):
            of = [known[layer][index] for layer in layers]
            values = [each.other / each.value if side == "less" else each.value / each.other for each in of]
            ratios[measure] = min(values), max(values)
        first = [known[layer][0] for layer in layers]
        bars = {on: fmean(each.value for each in first), "other": fmean(each.other for each in first)}
        yield SinkImportance(
            kind=kind, target=on, layers=layers, tested=tested, sides=sides, ratios=ratios,
            figure=Bars(tuple((label, mean, thousandths(mean)) for label, mean in bars.items())),
        )  # fmt: skip


def layer_rows(about: Context, kind: Kind) -> list[Row]:
    """Return a row for each layer: the mean over its heads by measure and class, and each class minus other tokens."""
    table, differences = (about.run.tables.get(name) for name in ("importance", "importance_differences"))
    if table is None:
        return []
    columns = {
        f"{measure}.{name}": layer_means(table, measure, name, kind.name)
        for measure, name in product(MEASURES, KEY_CLASSES)
    }
    columns[GATE] = layer_means(table, GATE, None, kind.name)
    if differences is not None:
        columns |= {
            f"{measure}.{name}.difference": layer_differences(differences, measure, name, kind.name)
            for measure, name in product(MEASURES, SINKS)
        }
    layers = sorted({layer for cells in columns.values() for layer in cells})
    return [{"layer": layer, **{name: cells.get(layer) for name, cells in columns.items()}} for layer in layers]


def key_classes(about: Context) -> dict[str, str]:
    """Return the names of the classes of key for this model."""
    return class_names(about.words)


PAGE = Page(__name__, importance_facts, uses=(importance_panels, key_classes, layer_rows))
PARTS = PAGE.parts(figures=(FIGURE,), group="worth", explained=("importance",))
