"""Measures of what heads are worth, side by side: how far they rank heads alike, and which they rank differently."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from headscope.report_kit.kinds import Kind
from headscope.statistics.inference.rank_correlation import rank_correlation
from headscope.study.head_columns import head_columns
from headscope.study.once_a_study import once_a_study
from headscope.study.study import Study

MEASURES: Mapping[str, str] = {
    "norms.non_sink": "weight off the sink",
    "norms.output_norm_in_stream": "output norm",
    "effects.gate": "gate estimate",
    "effects.loss": "effect on the loss",
    "explanation.explained": "share explained",
}
"""Columns of `study.heads`, and what they are called. Of effects on the loss the size counts, as of gradients."""
FEWEST = 3
"""Fewer measures are not compared."""
_APART = 0.5
"""Heads whose ranks differ by more than this share of all heads are named."""


@dataclass(frozen=True)
class Agreement:
    """How far two measures rank heads alike.

    Attributes:
        first, second: the measures, in words.
        rho: Spearman's rank correlation over heads.
        ci_low, ci_high: ends of its interval over heads.
    """

    first: str
    second: str
    rho: float
    ci_low: float
    ci_high: float

    @property
    def has_interval(self) -> bool:
        """Whether there are heads enough for an interval."""
        return bool(np.isfinite(self.ci_low))


def measured_heads(run: Study, kind: Kind) -> pd.DataFrame:
    """Return the measures that a run has of the heads of a kind, a column each by its name in words.

    Args:
        run: its tables.
        kind: of attention.

    Returns:
        Indexed by layer and head; without rows where the run has too few measures, or no effects.
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
    """Return how far each two measures agree, the most alike first.

    Args:
        heads: from `measured_heads`.
    """
    pairs = [
        Agreement(first, second, *rank_correlation(heads[first], heads[second]))
        for first, second in combinations(heads.columns, 2)
    ]
    return sorted((pair for pair in pairs if np.isfinite(pair.rho)), key=lambda pair: -pair.rho)


def ranked_apart(heads: pd.DataFrame, *, most: int = 3) -> pd.DataFrame:
    """Return the ranks of the heads on which measures disagree the most, 1 for the largest; equal ones share the first.

    Args:
        heads: from `measured_heads`; the ranks have its index and columns.
        most: how many at most.
    """
    if heads.empty:
        return heads
    ranks = pd.DataFrame(rankdata(-heads.to_numpy(), method="min", axis=0), heads.index, heads.columns).astype("int64")
    gaps = ranks.max(axis=1) - ranks.min(axis=1)
    order = gaps[gaps > _APART * len(heads)].sort_values(ascending=False, kind="stable").index
    return ranks.loc[order[:most]]
