"""The layer effect: whether heads of a layer are more alike than heads of different layers, with a test."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.distances.sums import DivergenceResult
from headscope.statistics.inference.confidence import ratio_interval

PERMUTATIONS = 10_000
_CELLS_AT_ONCE = 1 << 23
ONE_LAYER = "there is one layer, and no pair of heads of different layers"
ONE_HEAD = "each layer has one head, and no pair of heads is of one layer"


def layer_effect(result: DivergenceResult, *, permutations: int = PERMUTATIONS, seed: int = 0) -> dict[str, Any]:
    """Compare heads of a layer with heads of different layers (paper section 6).

    Args:
        result: divergences with their sums by group of documents.
        permutations: number of permutations of the heads' layer labels.
        seed: seed of the permutations.

    Returns:
        Columns of `layer_effect.parquet`, in nats; NaN where the model has no such pair of heads. The bounds of the
        interval are also NaN with fewer than 10 documents.
    """
    a, b = np.triu_indices(len(result.divergence), k=1)
    same = result.layer_of[a] == result.layer_of[b]
    apart = result.divergence[a, b]
    within = float(apart[same].mean()) if same.any() else np.nan
    between = float(apart[~same].mean()) if not same.all() else np.nan
    reason = ONE_LAYER if result.layers == 1 else ONE_HEAD if result.heads == 1 else None
    means = {"within": within, "between": between, "n_rows": result.n, "reason": reason}
    if reason is not None:
        return means | dict.fromkeys(("effect", "ci_low", "ci_high", "p"), np.nan)
    by_group = result.group_sums[:, a, b]
    gaps = by_group[:, ~same].mean(1) - by_group[:, same].mean(1)
    interval = ratio_interval(gaps, result.group_rows, scale="real", documents=result.documents)
    p = permutation_p(result.divergence, result.layers, permutations=permutations, seed=seed)
    ends = {"ci_low": float(interval.low), "ci_high": float(interval.high)}
    return {**means, "effect": between - within, **ends, "p": p}


def permutation_p(
    divergence: NDArray[np.float64], layers: int, *, permutations: int = PERMUTATIONS, seed: int = 0
) -> float:
    """Return the one-sided p of the layer effect under random assignments of heads to layers.

    The sum over all pairs is constant, so an effect is at least as large if the sum within layers is at most as large.
    p = (1 + number of such permutations) / (1 + permutations), which is never 0.

    Args:
        divergence: in nats, heads layer by layer, `[head, head]`.
        layers: number of layers, all with the same number of heads.
        permutations: number of permutations.
        seed: seed of the permutations.
    """
    heads = len(divergence) // layers
    a, b = np.triu_indices(heads, k=1)

    def within(order: NDArray[np.int64]) -> NDArray[np.float64]:
        dealt = order.reshape(-1, layers, heads)
        return np.asarray(divergence[dealt[..., a], dealt[..., b]].sum((1, 2)), dtype=np.float64)

    heads_in_order = np.arange(layers * heads)
    # Assignments that differ only in the order of layers must count as ties, whatever the rounding.
    bound = float(within(heads_in_order)[0]) + 1e-9 * float(np.abs(divergence).max(initial=0.0))
    generator = np.random.default_rng(seed)
    at_once = max(1, _CELLS_AT_ONCE // max(len(heads_in_order), layers * len(a)))
    as_large = 0
    for start in range(0, permutations, at_once):
        deals = np.tile(heads_in_order, (min(at_once, permutations - start), 1))
        as_large += int((within(generator.permuted(deals, axis=1)) <= bound).sum())
    return (1 + as_large) / (1 + permutations)
