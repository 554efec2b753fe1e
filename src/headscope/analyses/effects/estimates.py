"""First-order estimates: choose heads by them, and compare them with exact effects: recall, slope, and signs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import rankdata, theilslopes

from headscope.analyses.effects.sums import GATE
from headscope.analyses.effects.tables import (
    EFFECT_ESTIMATES,
    ESTIMATES,
    MISSED,
    OVERLOOKED,
    RECALL,
    SLOPE,
    WRONG_SIGNS,
)
from headscope.attention.interventions.block_plan import Layer
from headscope.attention.interventions.intervention import Heads
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS, Interval, ends_of, ratio_interval
from headscope.statistics.inference.significance import LEAST_LOSS, SIGNIFICANT

_LARGEST = 10
"""One head in this many counts as having a large effect."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The heads of a kind of attention with their exact effects and one estimate of them.

    Attributes:
        estimate: name of the estimate.
        heads: layer and head from 1, `[head, 2]`.
        effect: added loss, nats, `[head]`.
        is_shown: mask of the heads whose effect is significant, at a false discovery rate of 5% over all heads, and at
            least `LEAST_LOSS`, `[head]`.
        guess: estimated effect, nats, `[head]`.
        drawn: mask of the heads drawn from those with smaller gate estimates, `[head]`; None where all heads were
            changed.
    """

    estimate: str
    heads: NDArray[np.int64]
    effect: NDArray[np.float64]
    is_shown: NDArray[np.bool_]
    guess: NDArray[np.float64]
    drawn: NDArray[np.bool_] | None = None

    def head(self, row: int) -> tuple[int, int]:
        """Return layer and head of a row, from 1."""
        layer, head = self.heads[row].tolist()
        return layer, head

    @property
    def rank(self) -> NDArray[np.int64]:
        """The rank of each head by the size of its effect, from 1."""
        return _ranks(self.effect)

    @property
    def guessed_rank(self) -> NDArray[np.int64]:
        """The rank of each head by the size of its estimate, from 1."""
        return _ranks(self.guess)

    @property
    def is_large(self) -> NDArray[np.bool_]:
        """A mask of the heads with an effect that are in the tenth of all heads with the largest effects."""
        large: NDArray[np.bool_] = self.is_shown & (self.rank <= self.number_of_large)
        return large

    @property
    def number_of_large(self) -> int:
        """The number of heads in a tenth, rounded up."""
        return -(-len(self.effect) // _LARGEST)

    @property
    def is_found(self) -> NDArray[np.bool_]:
        """A mask of the large heads that are in the tenth with the largest estimates."""
        return self.is_large & (self.guessed_rank <= self.number_of_large)

    @property
    def is_missed(self) -> NDArray[np.bool_]:
        """A mask of the large heads that are in the half with the smallest estimates."""
        return self.is_large & (2 * self.guessed_rank > len(self.effect))

    @property
    def is_wrong(self) -> NDArray[np.bool_]:
        """A mask of the heads with an effect whose estimate has the opposite sign."""
        wrong: NDArray[np.bool_] = self.is_shown & (np.sign(self.guess) != np.sign(self.effect))
        return wrong


def judged_of(effects: pd.DataFrame, kind: str) -> list[Judged]:
    """Return each estimate of the heads of a kind with their exact effects; heads that lack either are left out.

    Args:
        effects: `tables/effects.parquet`.
        kind: `encoder`, `decoder` or `cross`.
    """
    of_kind = effects[effects["kind"] == kind]
    by_head = of_kind.pivot(index=["layer", "head"], columns="measure", values="value")
    of_loss = of_kind[of_kind["measure"] == "loss"].set_index(["layer", "head"])["q_value"]
    drawn = drawn_heads(effects)
    several = []
    for name in ESTIMATES:
        if name not in by_head:
            continue
        both = by_head[["loss", name]].dropna()
        if len(both):
            several.append(
                Judged(
                    estimate=name,
                    heads=np.array(both.index.tolist(), dtype=np.int64),
                    effect=both["loss"].to_numpy(dtype=np.float64),
                    is_shown=(of_loss.reindex(both.index) < SIGNIFICANT).to_numpy(dtype=bool)
                    & (both["loss"].abs() >= LEAST_LOSS).to_numpy(dtype=bool),
                    guess=both[name].to_numpy(dtype=np.float64),
                    drawn=None
                    if drawn is None
                    else np.array([(kind, *head) in drawn for head in both.index.tolist()], dtype=bool),
                )
            )
    return several


def drawn_heads(effects: pd.DataFrame) -> set[tuple[str, int, int]] | None:
    """Return the heads that were drawn from those with smaller gate estimates; None where all heads were changed.

    Args:
        effects: `tables/effects.parquet`.
    """
    by_head = effects.pivot(index=["kind", "layer", "head"], columns="measure", values="value")
    if GATE not in by_head or "loss" not in by_head or by_head["loss"].notna().all():
        return None
    measured = by_head[by_head["loss"].notna()].sort_values(GATE, ascending=False)
    return set(measured.index[number_of_largest(len(measured)) :])


def estimates_table(effects: pd.DataFrame) -> pd.DataFrame:
    """Return `effect_estimates.parquet`; layers are 1-based, a missing layer means all layers.

    Args:
        effects: `tables/effects.parquet`.
    """
    rows: list[dict[str, object]] = []
    for kind in dict.fromkeys(effects["kind"]):
        for judged in judged_of(effects, kind):
            for layer in (None, *sorted(set(judged.heads[:, 0].tolist()))):
                among = np.ones(len(judged.heads), dtype=bool) if layer is None else judged.heads[:, 0] == layer
                rows += [
                    {"kind": kind, "layer": layer, "estimate": judged.estimate, **each}
                    for each in _verdicts(judged, among)
                ]
    return EFFECT_ESTIMATES.frame(rows)


def _verdicts(judged: Judged, among: NDArray[np.bool_]) -> Iterator[Mapping[str, object]]:
    """Yield each verdict on some of the heads, with its interval over heads."""
    if judged.drawn is None:
        large = among & judged.is_large
        yield {"measure": RECALL, **_share(judged.is_found[large]), "n_heads": int(large.sum())}
        yield {"measure": MISSED, **_share(judged.is_missed[large]), "n_heads": int(large.sum())}
    elif judged.estimate == GATE:
        drawn = among & judged.drawn
        yield {"measure": OVERLOOKED, **_share(judged.is_shown[drawn]), "n_heads": int(drawn.sum())}
    effect = np.abs(judged.effect) if judged.estimate == GATE else judged.effect
    # A slope needs two heads with an effect.
    sloped = among if (among & judged.is_shown).sum() > 1 else among & False
    yield {"measure": SLOPE, **ends_of(slope_of(judged.guess[sloped], effect[sloped]), ()), "n_heads": int(among.sum())}
    if judged.estimate != GATE:
        sure = among & judged.is_shown
        yield {"measure": WRONG_SIGNS, **_share(judged.is_wrong[sure]), "n_heads": int(sure.sum())}


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


def _share(hits: NDArray[np.bool_]) -> dict[str, float]:
    if not len(hits):
        return dict.fromkeys(("value", "ci_low", "ci_high"), np.nan)
    interval = ratio_interval(hits.astype(np.float64), np.ones(len(hits)), scale="share")
    return ends_of(interval, ())


def _ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    ranks: NDArray[np.int64] = rankdata(-np.abs(values), method="ordinal").astype(np.int64)
    return ranks


def chosen_heads(estimates: dict[str, NDArray[np.float64]], number: int, *, seed: int) -> Heads:
    """Choose heads: one half has the largest estimates, the other half is drawn by hash.

    Args:
        estimates: estimates by kind of attention, `[layer, head]`.
        number: number of heads; all heads if the model has fewer.
        seed: seed of the random draw.
    """
    estimate_of = {
        ((kind, layer), head): float(values[layer, head])
        for kind, values in estimates.items()
        for layer, head in np.ndindex(*values.shape)
    }
    lot_of = {
        ((kind, layer), head): blake2b(f"{seed}/{kind}/{layer}/{head}/effects".encode(), digest_size=8).digest()
        for (kind, layer), head in estimate_of
    }
    by_estimate = sorted(estimate_of, key=lambda each: (-estimate_of[each], lot_of[each]))
    largest = number_of_largest(min(number, len(by_estimate)))
    others = sorted(by_estimate[largest:], key=lambda each: lot_of[each])
    by_layer: dict[Layer, list[int]] = {}
    for layer, head in sorted([*by_estimate[:largest], *others[: number - largest]], key=lambda each: each[1]):
        by_layer.setdefault(layer, []).append(head)
    return by_layer


def number_of_largest(number: int) -> int:
    """Return the number of heads with the largest estimates among the chosen heads."""
    return -(-number // 2)
