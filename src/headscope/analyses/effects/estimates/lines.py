"""The accuracy of first-order estimates, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

import pandas as pd

from headscope.analyses.effects.estimates.findings import NAMES, verdict
from headscope.analyses.effects.estimates.tables import MISSED, OVERLOOKED, RECALL, SLOPE, WRONG_SIGNS
from headscope.counted import count
from headscope.report_kit.tables.cells import Cell
from headscope.statistics.inference.worth_saying import LEAST_LOSS


def estimate_lines(table: pd.DataFrame, prefix: Mapping[Hashable, str]) -> Iterator[str]:
    """Yield a line for each estimate of each kind of attention with its recall, misses and errors.

    Args:
        table: `tables/effect_estimates.parquet`.
        prefix: prefix of the lines of each kind.
    """
    for kind, before in prefix.items():
        for estimate, name in NAMES.items():
            if parts := list(_parts(table, str(kind), estimate)):
                yield f"{before}{name}: {'; '.join(parts)}"


def _parts(table: pd.DataFrame, kind: str, estimate: str) -> Iterator[str]:
    recall, missed, overlooked, signs, slope = (
        verdict(table, kind, estimate, measure) for measure in (RECALL, MISSED, OVERLOOKED, WRONG_SIGNS, SLOPE)
    )
    if recall is not None:
        yield f"{_number(recall)} of the {count(recall.n, 'head')} with the largest effects found"
    if missed is not None:
        yield f"{_number(missed)} of them in its lower half"
    if overlooked is not None:
        drawn = count(overlooked.n, "head")
        yield f"{_number(overlooked)} of {drawn} drawn from those with smaller ones cost {LEAST_LOSS:g} nats or more"
    if signs is not None:
        yield f"wrong sign for {_number(signs)} of {signs.n} heads with an effect"
    if slope is not None and slope.has_interval:
        yield f"slope of effects {slope.value:.2f} (95% {slope.ci_low:.2f} to {slope.ci_high:.2f})"


def _number(share: Cell) -> int:
    return round(share.value * share.n)
