"""The agreement of measures of a head's importance: rank correlations, and heads that two measures rank differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, compress, permutations
from math import nan

import matplotlib.figure
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.effects.head_effects import added_losses
from headscope.present.cells import Cell
from headscope.present.claim_rules import above, leading
from headscope.present.facts import Fact
from headscope.present.figures.style import INK, LEAST_MARK, LINE, SOFT, house_style, new_figure
from headscope.present.head_columns import head_columns, head_intervals
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.statistics.inference.derived import rank_correlation
from headscope.statistics.inference.significance import LEAST_CORRELATION, LEAST_LOSS, LEAST_RANKS, LEAST_SHARE

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
MOST_APART = 3
"""Largest number of heads that are named because measures rank them differently."""


@dataclass(frozen=True)
class Agreement:
    """The rank agreement of two measures.

    Attributes:
        first, second: labels of the measures.
        rho: Spearman's rank correlation over heads, with its interval over heads.
    """

    first: str
    second: str
    rho: Cell


@dataclass(frozen=True, kw_only=True)
class MeasureFact(Fact):
    """A claim on the agreement of measures of heads."""

    kind: Kind
    topic = "measures_compared"


@dataclass(frozen=True, kw_only=True)
class Nearest(MeasureFact):
    """The measure that ranks heads most like their effects on the loss; None if none is shown to rank them so."""

    best: Agreement | None
    leading: bool


@dataclass(frozen=True, kw_only=True)
class RanksApart(MeasureFact):
    """A head, of `of`, that two measures rank differently, by the ranks that its intervals allow; 1 is the largest.

    Attributes:
        high, low: labels of the measures by which it ranks high and low.
        best, worst: first and last rank that it can have by each.
    """

    head: HeadRef
    of: int
    high: str
    low: str
    best: Sequence[int]
    worst: Sequence[int]


def measure_facts(about: Context) -> Iterator[Fact]:
    """Yield the measure that ranks heads most like their effects, if two have an effect, and heads ranked apart."""
    for kind in about.kinds:
        heads = measured_heads(about.run, kind)
        if heads.empty:
            continue
        if sum(each.is_shown for each in added_losses(about.run.tables["effects"], kind.name)) > 1:
            pairs = [pair for pair in agreements(heads) if MEASURES["effects.loss"] in (pair.first, pair.second)]
            cells = [pair.rho for pair in pairs]
            if any(cell.has_interval for cell in cells):
                shown = list(compress(pairs, above(cells, least=LEAST_CORRELATION)))
                leads = bool(leading(cells, least=0.0))
                yield Nearest(kind=kind, best=shown[0] if shown else None, leading=leads)
        yield from ranked_apart(about.run, kind, heads)


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
        Agreement(first, second, Cell(*rank_correlation(heads[first], heads[second]), nan, 0))
        for first, second in combinations(heads.columns, 2)
    ]
    return sorted((pair for pair in pairs if pair.rho.exists), key=lambda pair: -pair.rho.value)


def shown_ranks(value: Floats, low: Floats, high: Floats, *, least: float) -> NDArray[np.int64]:
    """Return the first and the last rank that each head can have, `[head, 2]`; heads without a shown difference tie.

    Args:
        value: value of each head.
        low, high: ends of each head's interval; NaN where it has none, and can have any rank.
        least: least difference for a head to rank before another.
    """
    ahead = (low[None, :] > high[:, None]) & (value[None, :] - value[:, None] >= least)
    return np.stack([1 + ahead.sum(1), len(value) - ahead.sum(0)], axis=1)


def ranked_apart(run: Study, kind: Kind, heads: pd.DataFrame) -> list[RanksApart]:
    """Return the heads on which measures disagree most, among heads whose ranks are shown to be far apart.

    Args:
        run: study with the tables.
        kind: kind of attention.
        heads: table from `measured_heads`.
    """
    ranks = {}
    for column, least in _LEAST.items():
        table = head_intervals(run.tables.get, column)
        if table is not None and kind.name in table.index.get_level_values("kind"):
            value, low, high = table.xs(kind.name).reindex(heads.index).to_numpy(dtype=np.float64).T
            if column == "effects.loss":
                value, low, high = np.abs(value), np.maximum(np.maximum(low, -high), 0), np.maximum(-low, high)
            ranks[MEASURES[column]] = shown_ranks(value, low, high, least=least).tolist()
    apart = [
        RanksApart(kind=kind, head=kind.head(*head), of=len(heads), high=high, low=low, best=best, worst=worst)
        for high, low in permutations(ranks, 2)
        for head, best, worst in zip(heads.index, ranks[high], ranks[low], strict=True)
        if worst[0] - best[1] > LEAST_RANKS * len(heads)
    ]
    widest: dict[HeadRef, RanksApart] = {}
    for each in sorted(apart, key=lambda each: each.best[1] - each.worst[0]):
        widest.setdefault(each.head, each)
    return list(widest.values())[:MOST_APART]


def draw_agreement(about: Context, *_: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the figure of each kind of attention whose heads have enough measures.

    Args:
        about: report context of the run.
    """
    for kind in about.kinds:
        if pairs := agreements(measured_heads(about.run, kind)):
            yield kind.ending, partial(agreement_figure, pairs)


def agreement_figure(pairs: Sequence[Agreement]) -> matplotlib.figure.Figure:
    """Draw the rank correlation of each pair of measures as a point with its interval, the largest on top.

    Args:
        pairs: pairs of measures with their agreement.
    """
    with house_style():
        figure = new_figure(5.6, 0.7 + 0.3 * len(pairs))
        ax = figure.subplots()
        y = np.arange(len(pairs))[::-1]
        ax.set_xlim(-1.02, 1.02)
        ax.set_ylim(-0.7, len(pairs) - 0.3)
        ax.axvline(0, color=LINE, linewidth=1.0, zorder=1)
        ends = np.array([(pair.rho.ci_low, pair.rho.ci_high) for pair in pairs])
        if np.isfinite(ends).any():
            ax.hlines(y, ends[:, 0], ends[:, 1], color=SOFT, linewidth=1.4, zorder=2, gid="interval")
        ax.scatter([pair.rho.value for pair in pairs], y, s=LEAST_MARK, color=INK, zorder=3, gid="pairs")
        ax.set_yticks(y, [f"{pair.first}, {pair.second}" for pair in pairs])
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("rank correlation over heads")
        return figure


FIGURE = Figure(name="figure-measures-compared", tables=("effects",), draw=draw_agreement)
USES = (Nearest, RanksApart)
