"""Effects of single heads, read from the tables, and the rank agreement of measures of a head's importance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations, compress, permutations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from headscope.analyses.effects.sums import COMPENSATION
from headscope.analyses.effects.tables import KEPT, UNIFORM
from headscope.attention.interventions.direct_effect import DIRECT
from headscope.present.cells import Cell, cell_of, number, records, rows_by_head
from headscope.present.claim_rules import above
from headscope.present.head_columns import head_columns, head_intervals
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, numbered
from headscope.present.numbers import nats, percent, span
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.statistics.inference.derived import rank_correlation
from headscope.statistics.inference.significance import LEAST_LOSS, LEAST_RANKS, LEAST_SHARE, SIGNIFICANT

_WITHOUT = {"uniform": "with uniform attention", "sink": "with all its attention on a sink"}


@dataclass(frozen=True)
class HeadEffect:
    """The added loss of a model when one head is changed.

    Attributes:
        head: the head.
        added: added loss in nats, with its interval.
        q_value: q-value of the test that the added loss is 0; NaN where it was not tested.
    """

    head: HeadRef
    added: Cell
    q_value: float

    @property
    def is_shown(self) -> bool:
        """True if the loss changes significantly (false discovery rate 5% over all heads) and by `LEAST_LOSS`."""
        return self.q_value < SIGNIFICANT and abs(self.added.value) >= LEAST_LOSS


def added_losses(table: pd.DataFrame, kind: str) -> list[HeadEffect]:
    """Return the added loss of every head of a kind that has a value, the largest first.

    Args:
        table: `tables/effects.parquet`.
        kind: `encoder`, `decoder` or `cross`.
    """
    rows = table[(table["kind"] == kind) & (table["measure"] == "loss") & table["value"].notna()]
    effects = [
        HeadEffect(numbered(kind, int(row["layer"]), int(row["head"])), cell_of(row, "value"), number(row["q_value"]))
        for row in records(rows)
    ]
    return sorted(effects, key=lambda effect: -effect.added.value)


def effect_lines(run: Study, kind: Kind) -> Mapping[int, str]:
    """Return a line with the effect, effect kept, direct effect and compensation of each head, by the head's index.

    Args:
        run: study with the tables.
        kind: kind of attention.
    """
    effects, kept = (_cells(run.tables.get(name), kind) for name in ("effects", "effect_kept"))
    how = _WITHOUT.get(str(run.tables["effects"]["intervention"].iloc[0]), "without it") if effects else ""
    # The effect kept is given only where replacing the attention by uniform attention has an effect.
    kept = dict(compress(kept.items(), above([cells[UNIFORM] for cells in kept.values()], least=LEAST_LOSS)))
    lines = {}
    for index in sorted({*effects, *kept}):
        parts = list(_parts(effects.get(index, {}), kept.get(index, {})))
        if parts and "loss" in effects.get(index, {}):
            parts[0] = f"{how}, {parts[0]}"
        if parts:
            lines[index] = "; ".join(parts).replace("-", "−")
    return lines


def _parts(effects: Mapping[str, Cell], kept: Mapping[str, Cell]) -> Iterator[str]:
    if (loss := effects.get("loss")) is not None and loss.exists:
        yield f"{nats(loss.value)} nats of loss are added{_interval(loss)}"
    if (share := kept.get(KEPT)) is not None and share.has_interval:
        ends = f"{100 * share.ci_low:.0f} to {100 * share.ci_high:.0f}"
        yield f"its explanation keeps {percent(share.value)} of the effect of its attention ({ends})"
    if (direct := effects.get(DIRECT[0])) is not None and direct.exists:
        yield f"direct effect on the logit {nats(direct.value)}{_interval(direct)}"
    if (compensation := effects.get(COMPENSATION)) is not None and compensation.exists:
        yield f"compensation {nats(compensation.value)}{_interval(compensation)}"


def _interval(cell: Cell) -> str:
    return f" ({span(cell.ci_low, cell.ci_high)})" if cell.has_interval else ""


def _cells(table: pd.DataFrame | None, kind: Kind) -> dict[int, dict[str, Cell]]:
    """Return the cells of single heads by the head's index and the measure."""
    if table is None or not len(table):
        return {}
    of_kind = table[(table["kind"] == kind.name) & table["head"].notna()]
    return {
        kind.head_index(*head): {str(measure): cell_of(row, "value") for (measure,), row in rows.items()}
        for head, rows in rows_by_head(of_kind, "measure")
    }


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
