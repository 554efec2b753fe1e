"""Measures of what heads are worth, side by side: how far they rank heads alike, and which they rank differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray
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
        n_heads: how many have both.
    """

    first: str
    second: str
    rho: float
    ci_low: float
    ci_high: float
    n_heads: int

    @property
    def has_interval(self) -> bool:
        """Whether there are heads enough for an interval."""
        return bool(np.isfinite(self.ci_low))


@dataclass(frozen=True)
class RankedApart:
    """A head that measures rank differently.

    Attributes:
        layer, head: from 1.
        high, low: the measures that rank it highest and lowest, in words.
        high_rank, low_rank: its places there, from 1.
        n_heads: how many are ranked.
    """

    layer: int
    head: int
    high: str
    low: str
    high_rank: int
    low_rank: int
    n_heads: int


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
        Agreement(first, second, *rank_correlation(heads[first], heads[second]), len(heads))
        for first, second in combinations(heads.columns, 2)
    ]
    return sorted((pair for pair in pairs if np.isfinite(pair.rho)), key=lambda pair: -pair.rho)


def ranked_apart(heads: pd.DataFrame, *, most: int = 3) -> list[RankedApart]:
    """Return the heads on whose ranks measures disagree the most.

    Args:
        heads: from `measured_heads`.
        most: how many at most.
    """
    if heads.empty:
        return []
    places = ranks_of(heads)
    gaps = places.max(1) - places.min(1)
    order = [index for index in np.argsort(-gaps, kind="stable") if gaps[index] > _APART * len(heads)]
    names: Sequence[str] = list(heads.columns)
    named = []
    for index in order[:most]:
        high, low = int(places[index].argmin()), int(places[index].argmax())
        layer, head = heads.index[index]
        named.append(
            RankedApart(
                layer=int(layer),
                head=int(head),
                high=names[high],
                low=names[low],
                high_rank=int(places[index, high]),
                low_rank=int(places[index, low]),
                n_heads=len(heads),
            )
        )
    return named


def ranks_of(heads: pd.DataFrame) -> NDArray[np.int64]:
    """Return the rank of each head by each measure, 1 for the largest, `[head, measure]`; equal ones share the first.

    Args:
        heads: from `measured_heads`.
    """
    ranks: NDArray[np.int64] = rankdata(-heads.to_numpy(), method="min", axis=0).astype(np.int64)
    return ranks
