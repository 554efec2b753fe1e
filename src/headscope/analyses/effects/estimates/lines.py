"""How well first-order estimates do, in lines for a terminal."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping

import pandas as pd

from headscope.analyses.effects.estimates.findings import NAMES, verdict
from headscope.analyses.effects.estimates.tables import MISSED, RECALL, SLOPE, WRONG_SIGNS


def estimate_lines(table: pd.DataFrame, prefix: Mapping[Hashable, str]) -> Iterator[str]:
    """Yield a line for each estimate of each kind of attention: what it finds and misses, and how it errs.

    Args:
        table: `tables/effect_estimates.parquet`.
        prefix: of each kind.
    """
    for kind, before in prefix.items():
        for estimate, name in NAMES.items():
            recall, missed, signs, slope = (
                verdict(table, str(kind), estimate, measure)
                for measure in (RECALL, MISSED, WRONG_SIGNS, SLOPE)
            )
            if recall is None or missed is None:
                continue
            hits, overlooked = (round(each.value * recall.n) for each in (recall, missed))
            line = (
                f"{before}{name} finds {hits} of the {recall.n} heads with the largest effects, and has "
                f"{overlooked} of them in its lower half"
            )
            if signs is not None:
                line += f"; its sign is wrong for {round(signs.value * signs.n)} of {signs.n} heads with an effect"
            if slope is not None and slope.has_interval:
                line += (
                    f"; slope of effects {slope.value:.2f} (95% {slope.ci_low:.2f} to {slope.ci_high:.2f})"
                )
            yield line
