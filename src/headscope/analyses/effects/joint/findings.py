"""Findings on the number of heads that can be removed together, by measure, and on the additivity of effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress, takewhile

import pandas as pd

from headscope.analyses.effects.joint.rows import Curve, curves_in
from headscope.analyses.effects.joint.tables import EFFECT, JOINT, R2_LINEAR, R2_TOTAL, RANDOM, TOTAL
from headscope.report_kit.claim_rules import above, below
from headscope.report_kit.linked_sentences import Sentence, sentence
from headscope.report_kit.numbers import nats, percent, span
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import Cell, cell_of, records
from headscope.report_kit.words import count, join
from headscope.statistics.inference.worth_saying import LEAST_LOSS

TOPIC = "joint_effects"
CHEAP = 0.1
"""Added loss in nats below which removing heads is called cheap: the perplexity grows by a factor of 1.1."""
ADDING = 0.9
"""R² between sets above which effects count as additive."""

_MOST_NAMED = 4
_FALSE = "false discovery rate 5%)"


def joint_findings(about: Context) -> list[Sentence]:
    """Return findings on the number of heads that can be removed, on orders compared with random ones, and on the
    additivity of effects."""
    return table_sentences(about.run.tables)


def table_sentences(tables: Mapping[str, pd.DataFrame]) -> list[Sentence]:
    """Return the findings on heads that are removed together; empty where a run removed none.

    Args:
        tables: tables of the run, by name.
    """
    curves, areas, sums = (tables.get(f"joint_{name}") for name in ("curves", "areas", "sums"))
    if curves is None or areas is None or sums is None or not len(curves):
        return []
    every = curves_in(curves, areas)
    by_effect = next(curve for curve in every if curve.order == EFFECT)
    sets = {row["measure"]: cell_of(row, "value") for row in records(sums)}
    whole, few = list(by_effect.points.values())[-1], sets[JOINT]
    findings = _going(by_effect)
    # If removing all heads together, or sets of them, is not shown to add loss, no order is better than another.
    if above([whole], least=LEAST_LOSS) == [True]:
        findings += _orders([curve for curve in every if curve.order != RANDOM])
    if above([few], least=LEAST_LOSS) == [True]:
        n_sets, size = (int(sums[name].iloc[0]) for name in ("n_sets", "n_removed"))
        findings += _adding(sets, n_sets=n_sets, size=size)
    return findings


def _going(curve: Curve) -> list[Sentence]:
    """Return the finding on the largest number of heads such that it and all smaller ones are shown to be cheap."""
    total = max(curve.points)
    removed = {number: cell for number, cell in curve.points.items() if number}
    cheap = list(takewhile(lambda number: removed[number].ci_high < CHEAP, removed))
    if cheap:
        cell, heads = removed[cheap[-1]], f"{cheap[-1]:,} of {total:,} heads"
        chosen = ", chosen by their effects on other documents"
        if cheap[-1] == total:
            heads, chosen = f"all {total:,} heads", ""
        cost = f"{nats(cell.value)} nats{_interval(cell)}"
        if cell.ci_high < LEAST_LOSS:
            cost = f"less than {LEAST_LOSS:g} nats (whole 95% interval)"
        together = " together" if cheap[-1] > 1 else ""
        text = f"{heads} can go{together} for {cost}{chosen}."
    else:
        number, cell = next(iter(removed.items()))
        if cell.has_interval and above([cell], least=LEAST_LOSS) != [True]:
            return []
        text = (
            f"without the {count(number, 'head')} of {total:,} with the smallest effects on other documents the loss "
            f"rises by {nats(cell.value)} nats{_interval(cell)}."
        )
    return [sentence(TOPIC, text.replace("-", "−"))]


def _orders(curves: Sequence[Curve]) -> list[Sentence]:
    """Return findings on the measures by which removing heads adds less loss than at random, or more."""
    gaps = [curve.less_random for curve in curves]
    if not any(gap.has_interval for gap in gaps):
        return []
    every = [curve.label for curve in curves]
    less, more = (list(compress(every, side(gaps, least=LEAST_LOSS))) for side in (below, above))
    text = "by no measure heads are shown to go at less loss than random heads of the same layers."
    if less:
        measures = _measures(less, every)
        text = f"heads removed by {measures} cost less than random heads of the same layers ({_FALSE}."
    findings = [sentence(TOPIC, text)]
    if more:
        text = f"Removed by {_measures(more, every)} they cost more than random heads ({_FALSE}."
        findings.append(sentence(TOPIC, text, goes_on=True))
    return findings


def _measures(labels: list[str], every: list[str]) -> str:
    """Name the measures, or the one that is left out, or give their number if there are many."""
    others = [label for label in every if label not in labels]
    if len(labels) < _MOST_NAMED:
        return join(labels)
    if not others:
        return f"any of {len(every)} measures"
    return f"any measure but {others[0]}" if len(others) == 1 else f"{len(labels)} of {len(every)} measures"


def _adding(sums: dict[str, Cell], *, n_sets: int, size: int) -> list[Sentence]:
    """Return findings on whether effects of single heads add up to the added loss of sets of heads."""
    joint, total, of_total, of_linear = (sums[name] for name in (JOINT, TOTAL, R2_TOTAL, R2_LINEAR))
    if not of_total.has_interval:
        return []
    how = "add up" if of_total.ci_low > ADDING else "do not add up" if of_total.ci_high < ADDING else "may add up"
    costs = (
        f"effects of single heads {how}: {n_sets} random sets of {count(size, 'head')} cost {nats(joint.value)} nats "
        f"on average, their single effects sum to {nats(total.value)}."
    )
    shares = (
        f"Their sum tells {_share(of_total)} of the differences between sets, a linear model {_share(of_linear)} of "
        "held-out ones (95% intervals)."
    )
    return [sentence(TOPIC, costs.replace("-", "−")), sentence(TOPIC, shares, goes_on=True)]


def _share(cell: Cell) -> str:
    if cell.value <= 0:
        return "nothing"
    low, high = 100 * max(cell.ci_low, 0.0), 100 * cell.ci_high
    return f"{percent(cell.value)} ({low:.0f} to {high:.0f})"


def _interval(cell: Cell) -> str:
    return f" (95% interval {span(cell.ci_low, cell.ci_high)})" if cell.has_interval else ""
