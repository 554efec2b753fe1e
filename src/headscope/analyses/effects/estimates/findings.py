"""Sentences on the exact effects that first-order estimates find, and those that they overlook."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from headscope.analyses.effects.accumulator import ATTRIBUTION, GATE
from headscope.analyses.effects.estimates.judge import Judged, judged_of
from headscope.analyses.effects.estimates.tables import OVERLOOKED, SLOPE, WRONG_SIGNS
from headscope.analyses.effects.nats import nats_cell
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, listed, numbered, sentence
from headscope.report_kit.numbers import percent, two_decimals
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import Cell, cell_of, records
from headscope.report_kit.words import count
from headscope.statistics.inference.worth_saying import LEAST_LOSS

TOPIC = "effect_estimates"
NAMES = {ATTRIBUTION: "attribution", GATE: "the gate estimate"}


def estimate_findings(about: Context) -> list[Sentence]:
    """Return findings on the share of the largest effects that estimates find, and on their slope and signs."""
    effects, verdicts = (about.run.tables.get(name) for name in ("effects", "effect_estimates"))
    if effects is None or verdicts is None or not len(verdicts):
        return []
    findings: list[Sentence] = []
    for kind in about.kinds:
        if several := judged_of(effects, kind.name):
            if several[0].drawn is None:
                first, last = _found(kind, several), _missed(kind, several)
            else:
                first, last = _overlooked(kind, verdicts), iter(())
            sentences = [*first, *_slope_and_signs(kind, verdicts), *last]
            findings += kind.findings(sentences)
    return findings


def verdict(verdicts: pd.DataFrame, kind: str, estimate: str, measure: str) -> Cell | None:
    """Return a verdict on all heads of a kind, with their number as `n`; None where it has no value.

    Args:
        verdicts: `tables/effect_estimates.parquet`.
        kind: kind of attention.
        estimate: estimate that is judged.
        measure: one of `tables.VERDICTS`.
    """
    rows = verdicts[
        (verdicts["kind"] == kind)
        & verdicts["layer"].isna()
        & (verdicts["estimate"] == estimate)
        & (verdicts["measure"] == measure)
        & verdicts["value"].notna()
    ]
    return next((cell_of(row, "value") for row in records(rows)), None)


def _found(kind: Kind, several: Sequence[Judged]) -> Iterator[Sentence]:
    """Yield the number of heads with an effect in the top tenth that are also in the top tenth by each estimate."""
    first, *others = several
    if number := int(first.is_large.sum()):
        largest = f"{count(number, 'head')}{kind.of_kind} with the largest effects (of the top tenth)"
        more = "".join(f", {NAMES[each.estimate]} {int(each.is_found.sum())}" for each in others)
        yield sentence(TOPIC, f"{NAMES[first.estimate]} finds {int(first.is_found.sum())} of the {largest}{more}.")


def _overlooked(kind: Kind, verdicts: pd.DataFrame) -> Iterator[Sentence]:
    """Yield the finding on the effects of heads that were drawn from those with small gate estimates."""
    share = verdict(verdicts, kind.name, GATE, OVERLOOKED)
    if share is None:
        return
    interval = ""
    if share.has_interval:
        interval = f" (95% interval {100 * share.ci_low:.0f} to {100 * share.ci_high:.0f}%)"
    number = round(share.value * share.n)
    yield sentence(
        TOPIC,
        f"{number} of {count(share.n, 'drawn head')}{kind.of_kind} with small gate estimates "
        f"{'changes' if number == 1 else 'change'} the loss by {LEAST_LOSS:g} nats or more{interval}.",
    )


def _slope_and_signs(kind: Kind, verdicts: pd.DataFrame) -> Iterator[Sentence]:
    share = verdict(verdicts, kind.name, ATTRIBUTION, WRONG_SIGNS)
    if share is not None:
        wrong = round(share.value * share.n)
        interval = ""
        if share.has_interval:
            ends = f"{100 * share.ci_low:.0f} to {100 * share.ci_high:.0f}"
            interval = f" ({percent(share.value)}, 95% interval {ends})"
        heads = f"{count(share.n, 'head')}{kind.of_kind} that {'changes' if share.n == 1 else 'change'} the loss"
        yield sentence(TOPIC, f"attribution has the wrong sign for {wrong} of {heads}{interval}.")
    slope = verdict(verdicts, kind.name, ATTRIBUTION, SLOPE)
    if slope is not None and slope.has_interval:
        ends = f"(95% interval {two_decimals(slope.ci_low)} to {two_decimals(slope.ci_high)})"
        is_shown = slope.ci_low > 0 or slope.ci_high < 0
        if not is_shown:
            nothing = f"attribution does not say how large effects{kind.of_kind} are"
            yield sentence(TOPIC, f"{nothing}: their slope on it is {two_decimals(slope.value)} {ends}.")
        else:
            times = f"{two_decimals(slope.value)} times their attribution {ends}"
            yield sentence(TOPIC, f"effects{kind.of_kind} are {times}, the median over pairs of heads.")


def _missed(kind: Kind, several: Sequence[Judged]) -> Iterator[Sentence]:
    """Name the heads with the largest effects that an estimate calls unimportant."""
    for judged in several:
        rows = np.flatnonzero(judged.is_missed)
        if not len(rows):
            continue
        largest_first = [int(row) for row in rows[np.argsort(judged.rank[rows])]]
        name = NAMES[judged.estimate]
        if len(rows) == 1:
            (row,) = largest_first
            yield sentence(
                TOPIC,
                f"{name} misses ",
                kind.head(*judged.head(row)),
                f", whose effect is {nats_cell(judged.effect[row])} nats: it is in the lower half by estimate.",
            )
        else:
            yield sentence(
                TOPIC,
                f"{name} misses {len(rows)} of these heads{kind.of_kind}, which are in its lower half: ",
                *listed(numbered(kind.name, *judged.head(row)) for row in largest_first),
                ".",
            )
