"""Compare measures of a head's importance: their rank correlation, and the heads that they rank differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.report_kit.kinds import Kind
from headscope.statistics.inference.derived import rank_correlation
from headscope.statistics.inference.significance import LEAST_LOSS, LEAST_RANKS, LEAST_SHARE
from headscope.study.head_columns import head_columns, head_intervals
from headscope.study.study import Study
from headscope.study.values import once_a_study

Floats = NDArray[np.float64]
MEASURES: Mapping[str, str] = {
    "norms.non_sink": "weight off the sink",
    "norms.output_norm_in_stream": "output norm",
    "effects.gate": "gate estimate",
    "effects.loss": "effect on the loss",
    "explanation.explained": "share explained",
}
"""Columns of `study.heads` and their labels. Effects on the loss are compared by size, as gate estimates are."""
_LEAST: Mapping[str, float] = {
    "norms.output_norm_in_stream": LEAST_SHARE,
    "effects.gate": LEAST_LOSS,
    "effects.loss": LEAST_LOSS,
    "explanation.explained": LEAST_SHARE,
}
"""Least difference between two heads for a rank before the other, for the measures with intervals."""
FEWEST = 3
"""Least number of measures that are compared."""


@dataclass(frozen=True)
class Agreement:
    """The rank agreement of two measures.

    Attributes:
        first, second: labels of the measures.
        rho: Spearman's rank correlation over heads.
        ci_low, ci_high: ends of its interval over heads.
    """

    first: str
    second: str
    rho: float
    ci_low: float
    ci_high: float


def measured_heads(run: Study, kind: Kind) -> pd.DataFrame:
    """Return the measures of the heads of a kind that a run has, one column for each label.

    Args:
        run: study with the tables.
        kind: kind of attention.

    Returns:
        A table indexed by layer and head; empty where the run has too few measures, or no effects.
    """
    heads = _head_columns(run)
    heads = heads[heads["kind"] == kind.name].set_index(["layer", "head"])
    known = [name for name in MEASURES if name in heads and heads[name].notna().any()]
    if len(known) < FEWEST or "effects.loss" not in known:
        return pd.DataFrame()
    table = heads[known].dropna().astype("float64")
    table["effects.loss"] = table["effects.loss"].abs()
    return table.rename(columns=dict(MEASURES))


@once_a_study
def _head_columns(run: Study) -> pd.DataFrame:
    return head_columns(run.tables.get)


def agreements(heads: pd.DataFrame) -> list[Agreement]:
    """Return the agreement of each pair of measures, the largest first.

    Args:
        heads: table from `measured_heads`.
    """
    pairs = [
        Agreement(first, second, *rank_correlation(heads[first], heads[second]))
        for first, second in combinations(heads.columns, 2)
    ]
    return sorted((pair for pair in pairs if np.isfinite(pair.rho)), key=lambda pair: -pair.rho)


@dataclass(frozen=True, kw_only=True)
class RankedApart:
    """A head that two measures rank differently, by the ranks that its intervals allow; rank 1 is the largest.

    Attributes:
        layer, head: layer and head, from 1.
        high, low: labels of the measures by which it ranks high and low.
        best: first and last rank that it can have by `high`.
        worst: first and last rank that it can have by `low`.
    """

    layer: int
    head: int
    high: str
    low: str
    best: tuple[int, int]
    worst: tuple[int, int]

    @property
    def gap(self) -> int:
        """The least difference between its ranks."""
        return self.worst[0] - self.best[1]


def shown_ranks(value: Floats, low: Floats, high: Floats, *, least: float) -> NDArray[np.int64]:
    """Return the first and the last rank that each head can have, `[head, 2]`; heads without a shown difference tie.

    Args:
        value: value of each head.
        low, high: ends of each head's interval; NaN where it has none, and can have any rank.
        least: least difference for a head to rank before another.
    """
    ahead = (low[None, :] > high[:, None]) & (value[None, :] - value[:, None] >= least)
    return np.stack([1 + ahead.sum(1), len(value) - ahead.sum(0)], axis=1)


def ranked_apart(run: Study, kind: Kind, *, most: int = 3) -> list[RankedApart]:
    """Return the heads on which measures disagree most, among heads whose ranks are shown to be far apart.

    Args:
        run: study with the tables.
        kind: kind of attention.
        most: largest number of heads.
    """
    heads = measured_heads(run, kind)
    ranks = {}
    for column, least in _LEAST.items() if len(heads) else ():
        table = head_intervals(run.tables.get, column)
        if table is not None and kind.name in table.index.get_level_values("kind"):
            of_kind = table.xs(kind.name).reindex(heads.index)
            value, low, high = of_kind.to_numpy(dtype=np.float64).T
            if column == "effects.loss":
                value, low, high = np.abs(value), np.maximum(np.maximum(low, -high), 0), np.maximum(-low, high)
            ranks[MEASURES[column]] = shown_ranks(value, low, high, least=least)
    apart = [
        RankedApart(layer=layer, head=head, high=first, low=second, best=best, worst=worst)
        for first, second in permutations(ranks, 2)
        for (layer, head), best, worst in zip(heads.index, ranks[first].tolist(), ranks[second].tolist(), strict=True)
    ]
    widest: dict[tuple[int, int], RankedApart] = {}
    for each in sorted(apart, key=lambda each: -each.gap):
        if each.gap > LEAST_RANKS * len(heads):
            widest.setdefault((each.layer, each.head), each)
    return list(widest.values())[:most]
