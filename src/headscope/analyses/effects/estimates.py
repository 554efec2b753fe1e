"""First-order estimates compared with exact effects: recall, slope, and signs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata, theilslopes

from headscope.analyses.effects.tables import (
    EFFECT_ESTIMATES,
    ESTIMATES,
    GATE,
    LOSS,
    MISSED,
    OVERLOOKED,
    RECALL,
    SLOPE,
    WRONG_SIGNS,
)
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS, Interval, ends_of, ratio_interval
from headscope.statistics.inference.significance import LEAST_LOSS, SIGNIFICANT

_LARGEST = 10
"""One head in this many counts as having a large effect."""


def judged_of(effects: pd.DataFrame, kind: str) -> dict[str, pd.DataFrame]:
    """Return the heads of a kind with their exact effects and one estimate of them, by estimate.

    Heads that lack either are left out, and so is an estimate without heads.

    Args:
        effects: `tables/effects.parquet`.
        kind: `encoder`, `decoder` or `cross`.

    Returns:
        Tables by layer and head, from 1: `effect` and `guess` (the estimate) in nats, and masks. `is_shown`: the effect
        is significant, at a false discovery rate of 5% over all heads, and at least `LEAST_LOSS`; `is_large`: it is
        also in the tenth of all heads with the largest effects; `is_found`, `is_missed`: large heads in the tenth with
        the largest estimates, and in the half with the smallest; `is_wrong`: shown heads whose estimate has the
        opposite sign; `is_drawn`, where not all heads were changed: heads drawn from those with smaller gate estimates.
    """
    of_kind = effects[effects["kind"] == kind]
    by_head = of_kind.pivot(index=["layer", "head"], columns="measure", values="value")
    q_value = of_kind[of_kind["measure"] == LOSS].set_index(["layer", "head"])["q_value"]
    drawn = drawn_heads(effects)
    judged = {}
    for name in ESTIMATES:
        heads = by_head.reindex(columns=[LOSS, name]).dropna().set_axis(["effect", "guess"], axis=1)
        if heads.empty:
            continue
        tenth = -(-len(heads) // _LARGEST)
        guessed_rank = _ranks(heads["guess"])
        is_shown = (q_value.reindex(heads.index) < SIGNIFICANT) & (heads["effect"].abs() >= LEAST_LOSS)
        is_large = is_shown & (_ranks(heads["effect"]) <= tenth)
        judged[name] = heads.assign(
            is_shown=is_shown,
            is_large=is_large,
            is_found=is_large & (guessed_rank <= tenth),
            is_missed=is_large & (2 * guessed_rank > len(heads)),
            is_wrong=is_shown & (np.sign(heads["guess"]) != np.sign(heads["effect"])),
        )
        if drawn is not None:
            judged[name]["is_drawn"] = [(kind, *head) in drawn for head in heads.index]
    return judged


def drawn_heads(effects: pd.DataFrame) -> set[tuple[str, int, int]] | None:
    """Return the heads that were drawn from those with smaller gate estimates; None where all heads were changed.

    Args:
        effects: `tables/effects.parquet`.
    """
    by_head = effects.pivot(index=["kind", "layer", "head"], columns="measure", values="value")
    if GATE not in by_head or by_head[LOSS].notna().all():
        return None
    measured = by_head[by_head[LOSS].notna()].sort_values(GATE, ascending=False)
    return set(measured.index[number_of_largest(len(measured)) :])


def number_of_largest(number: int) -> int:
    """Return the number of heads with the largest estimates among the chosen heads."""
    return -(-number // 2)


def estimates_table(effects: pd.DataFrame) -> pd.DataFrame:
    """Return `effect_estimates.parquet`; layers are 1-based, a missing layer means all layers.

    Args:
        effects: `tables/effects.parquet`.
    """
    rows: list[dict[str, object]] = []
    for kind in dict.fromkeys(effects["kind"]):
        for estimate, judged in judged_of(effects, kind).items():
            rows += [
                {"kind": kind, "layer": layer, "estimate": estimate, **verdict}
                for layer, heads in ((None, judged), *judged.groupby("layer"))
                for verdict in _verdicts(estimate, heads)
            ]
    return EFFECT_ESTIMATES.frame(rows)


def _verdicts(estimate: str, heads: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Yield each verdict on some of the heads, with its interval over heads."""
    if "is_drawn" not in heads:
        large = heads[heads["is_large"]]
        yield _share(RECALL, large["is_found"])
        yield _share(MISSED, large["is_missed"])
    elif estimate == GATE:
        yield _share(OVERLOOKED, heads.loc[heads["is_drawn"], "is_shown"])
    # A slope needs two heads with an effect.
    sloped = heads if heads["is_shown"].sum() > 1 else heads[:0]
    effect = sloped["effect"].abs() if estimate == GATE else sloped["effect"]
    slope = slope_of(sloped["guess"].to_numpy(), effect.to_numpy())
    yield {"measure": SLOPE, **ends_of(slope, ()), "n_heads": len(heads)}
    if estimate != GATE:
        yield _share(WRONG_SIGNS, heads.loc[heads["is_shown"], "is_wrong"])


def slope_of(x: NDArray[np.float64], y: NDArray[np.float64]) -> Interval:
    """Compute the median slope over pairs (Theil 1950), with Sen's (1968) 95% interval, NaN for fewer than 10 heads.

    Unlike the least squares slope it is not dominated by one head with a large effect.

    Args:
        x, y: estimate and effect of each head.
    """
    if len(set(x.tolist())) < 2:
        value = low = high = np.nan
    else:
        value, _, low, high = theilslopes(y, x, alpha=0.95)
        if len(x) < FEWEST_DOCUMENTS:
            low = high = np.nan
    return Interval(value=np.array(value), low=np.array(low), high=np.array(high))


def _share(measure: str, hits: pd.Series) -> dict[str, object]:
    row: dict[str, object] = {"measure": measure, "n_heads": len(hits)}
    if len(hits):
        row |= ends_of(ratio_interval(hits.to_numpy(dtype=np.float64), np.ones(len(hits)), scale="share"), ())
    return row


def _ranks(values: pd.Series) -> NDArray[np.int64]:
    """Return the rank of each head by the size of its value, from 1."""
    return np.asarray(rankdata(-np.abs(values), method="ordinal"), dtype=np.int64)
