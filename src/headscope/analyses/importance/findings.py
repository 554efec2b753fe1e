"""Findings on the importance of attention to sink tokens, by both measures.

The gradient is the change of the loss with a weight, and may be small where weights are large. Weight times gradient
is the present contribution of the attended tokens. The two may disagree, so both are reported, in one sentence each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from statistics import fmean

import pandas as pd

from headscope.analyses.importance.figure import MEASURES, class_series
from headscope.report_kit.claim_rules import layers_standing_out, target
from headscope.report_kit.comparing import Comparison, Verdict, verdicts
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import MOST_LISTED, Sentence, sentence
from headscope.report_kit.numbers import thousandths
from headscope.report_kit.report_parts import Context
from headscope.report_kit.small_figures import Bars
from headscope.report_kit.tables.cells import Cell, cell_of, records
from headscope.report_kit.words import layer_list
from headscope.statistics.inference.worth_saying import LEAST_RATIO
from headscope.study.study import Study

TOPIC = "importance"
_BY = {"gradient": "the gradient", "weight_times_gradient": "weight × gradient"}


@dataclass(frozen=True)
class Compared:
    """A class of token compared with other tokens in a layer, by one measure.

    Attributes:
        value: mean of the measure for the class.
        other: mean of the measure for other tokens.
        difference: class minus other tokens, paired by document.
        verdict: `less`, `more`, or `even` if a difference is not shown, or too small for a sentence; without an
            interval, the measured side.
    """

    value: float
    other: float
    difference: Cell
    verdict: str = "even"

    @property
    def is_large(self) -> bool:
        """True if the ratio of the two is large enough for a sentence."""
        low, high = sorted((self.value, self.other))
        return high >= LEAST_RATIO * low

    def judged(self, side: Verdict) -> Compared:
        """Return the comparison with its verdict, given its side from the test over all comparisons."""
        measured = "more" if self.value > self.other else "less"
        sides: Mapping[Verdict, str] = {"same": "even", "untested": measured, "more": "more", "less": "less"}
        return replace(self, verdict=sides[side] if self.is_large else "even")


def importance_findings(about: Context) -> list[Sentence]:
    """Return sentences on whether the loss depends less or more on attention to classes that are sinks in some layers.

    A layer is included if its average attention to the class stands out, and if the difference to other tokens is
    shown, corrected over all classes and layers, for at least one measure.
    """
    if any(about.run.tables.get(name) is None for name in ("importance", "importance_differences")):
        return []
    pairs = list(product(about.kinds, ("cls", "sep", "period_comma")))
    known = [compared(about.run, name, kind.name) for kind, name in pairs]
    gaps = [Comparison.of(each.difference) for layers in known for measures in layers.values() for each in measures]
    sides = iter(verdicts(gaps, least=0.0))
    judged = [
        {layer: tuple(each.judged(next(sides)) for each in measures) for layer, measures in layers.items()}
        for layers in known
    ]
    return [
        finding
        for (kind, name), layers in zip(pairs, judged, strict=True)
        for finding in _on_sinks(about, kind, name, layers)
    ]


def compared(run: Study, key_class: str, kind: str) -> dict[int, tuple[Compared, ...]]:
    """Compare a class with other tokens in each layer, one comparison per measure, in the order of `MEASURES`."""
    table = run.tables.get("importance")
    if table is None:
        return {}
    by_measure = []
    for measure in MEASURES:
        means, other_means = (layer_means(table, measure, name, kind) for name in (key_class, "other"))
        differences = layer_differences(run.tables.get("importance_differences"), measure, key_class, kind)
        by_measure.append(
            {
                layer: Compared(means[layer].value, other_means[layer].value, differences[layer])
                for layer in sorted({*means} & {*other_means} & {*differences})
            }
        )
    layers = [layer for layer in by_measure[0] if all(layer in each for each in by_measure)]
    return {layer: tuple(each[layer] for each in by_measure) for layer in layers}


def layer_means(table: pd.DataFrame, measure: str, key_class: str, kind: str) -> dict[int, Cell]:
    """Return the layers' means of one measure and class, by 1-based layer; layers without a value are left out."""
    means = class_series(table, measure, key_class, kind=kind).means
    return {int(row["layer"]): cell_of(row, "value") for row in records(means)}


def layer_differences(table: pd.DataFrame | None, measure: str, key_class: str, kind: str) -> dict[int, Cell]:
    """Return the difference of a class to other tokens by one measure, by 1-based layer, where there is a value."""
    cells = {
        int(row["layer"]): cell_of(row, "difference")
        for row in records(table)
        if (row["kind"], row["measure"], row["key_class"]) == (kind, measure, key_class)
    }
    return {layer: cell for layer, cell in cells.items() if cell.exists}


def _on_sinks(about: Context, kind: Kind, name: str, known: Mapping[int, tuple[Compared, ...]]) -> list[Sentence]:
    words = about.words
    sinks = [layer for layer, _ in layers_standing_out(kind, name) if layer in known]
    groups: dict[tuple[bool, tuple[str, ...]], list[int]] = {}
    for layer in sinks:
        sides = tuple(comparison.verdict for comparison in known[layer])
        if set(sides) != {"even"}:
            tested = all(comparison.difference.has_interval for comparison in known[layer])
            groups.setdefault((tested, sides), []).append(layer)
    out = []
    # The finding that holds for most layers comes first.
    for (tested, sides), layers in sorted(groups.items(), key=lambda item: (-len(item[1]), item[1])):
        where = f"{layer_list(layers, most=MOST_LISTED)}{kind.of_kind}"
        # The condition for a test is the same for the whole run and stated there.
        measured = "" if tested else "as measured, "
        findings = [
            sentence(
                TOPIC,
                f"{measured}{_claim(sides, target(name, words))} in {where}.",
                figure=_bars([known[layer][0] for layer in layers], target(name, words)),
            ),
            *(
                sentence(
                    TOPIC,
                    f"by {_BY[measure]}, a weight on {target(name, words)} "
                    f"{_counts([known[layer][index] for layer in layers])}{kind.of_kind}.",
                    goes_on=True,
                )
                for index, measure in enumerate(MEASURES)
            ),
        ]
        out += kind.findings(findings) if kind.prefix else findings
    return out


def _bars(layers: Sequence[Compared], on: str) -> Bars:
    """Draw the gradient of a weight on a class of token and that of one on others, means over layers, in 10⁻³ nats."""
    means = (fmean(each.value for each in layers), fmean(each.other for each in layers))
    return Bars(tuple((name, mean, thousandths(mean)) for name, mean in zip((on, "other"), means, strict=True)))


def _claim(by_measure: Sequence[str], on: str) -> str:
    """Return the agreement of the two measures: on one side, on different sides, or only one with a difference."""
    sides = set(by_measure)
    if len(sides) == 1:
        return f"the loss depends {by_measure[0]} on {on} than on other tokens"
    if "even" not in sides:
        return f"two measures disagree on how much the loss depends on {on}"
    measure, verdict = next(
        (measure, verdict) for measure, verdict in zip(MEASURES, by_measure, strict=True) if verdict != "even"
    )
    return f"only by {_BY[measure]} does the loss depend {verdict} on {on}"


def _counts(layers: Sequence[Compared]) -> str:
    """Return the ratio of a weight's importance to that of one on other tokens, for layers with the same verdict."""
    verdict = layers[0].verdict
    if verdict == "less":
        ratios = _range([comparison.other / comparison.value for comparison in layers])
        return f"counts {ratios} times less than one on other tokens"
    ratios = _range([comparison.value / comparison.other for comparison in layers])
    if verdict == "more":
        return f"counts {ratios} times more than one on other tokens"
    return f"is not shown to count differently ({ratios} times as much)"


def _range(values: Sequence[float]) -> str:
    numbers = [f"{value:.{0 if value >= 9.95 else 1 if value >= 1.095 else 2}f}" for value in sorted(values)]
    return numbers[0] if numbers[0] == numbers[-1] else f"{numbers[0]} to {numbers[-1]}"
