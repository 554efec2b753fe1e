"""Test if the effects of single heads add up to the added loss when many heads are removed at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold

from headscope.analyses.effects.joint.tables import JOINT, R2_LINEAR, R2_TOTAL, TOTAL
from headscope.statistics.inference.confidence import Interval, ratio_interval, resampling_weights

Floats = NDArray[np.float64]
FOLDS = 8
"""Number of cross-validation folds of the sets; each fold is predicted by a model fitted to the others."""
_PENALTIES = np.logspace(-3, 4, 15)


def additivity_of(
    losses: Floats, effects: Floats, counts: NDArray[Any], sets: NDArray[np.int64], *, seed: int = 0
) -> dict[str, Interval]:
    """Compare the added losses of sets of heads with sums over their heads, on the same documents.

    The result has each measure of `joint.tables.SUMS`. The added loss of sets, and the sum of the effects of their
    heads, are means over sets, in nats, with intervals over documents; R² between sets has intervals over sets.

    Args:
        losses: sums of the added loss of each set in each document, nats, `[document, set]`.
        effects: sums of the added loss of each single head, `[document, head]`; NaN where it is not known.
        counts: number of inputs of each document, `[document]`.
        sets: heads of each set, `[set, head]`.
        seed: seed of the folds and of the bootstrap.
    """
    removed = np.zeros((len(sets), effects.shape[1]))
    np.put_along_axis(removed, sets, 1.0, axis=1)
    joint, single = losses.sum(0) / counts.sum(), effects.sum(0) / counts.sum()
    total = removed @ single
    linear = linear_prediction(removed, joint, removed @ np.nan_to_num(single), seed=seed)
    return {
        JOINT: ratio_interval(losses.mean(1), counts, scale="real"),
        TOTAL: ratio_interval((effects @ removed.T).mean(1), counts, scale="real"),
        R2_TOTAL: r2_interval(joint, total, seed=seed),
        R2_LINEAR: r2_interval(joint, linear, seed=seed),
    }


def linear_prediction(removed: Floats, joint: Floats, total: Floats, *, seed: int) -> Floats:
    """Predict the added loss of each set by ridge regression on the removed heads, fitted to other sets.

    Coefficients are shrunk toward the effects of single heads, not toward 0, so that sets may be fewer than heads.

    Args:
        removed: 1 where a set removes a head, else 0, `[set, head]`.
        joint: added loss of each set.
        total: sum of the effects of each set's heads.
        seed: seed of the folds.
    """
    predicted = np.empty_like(joint)
    for fitted, others in KFold(FOLDS, shuffle=True, random_state=seed).split(removed):
        ridge = RidgeCV(alphas=_PENALTIES).fit(removed[fitted], (joint - total)[fitted])
        predicted[others] = total[others] + ridge.predict(removed[others])
    return predicted


def r2_interval(joint: Floats, predicted: Floats, *, seed: int) -> Interval:
    """Compute R² = 1 - mean squared error / variance, with its bootstrap percentile interval over sets.

    Args:
        joint: added loss of each set.
        predicted: predicted added loss of each set.
        seed: seed of the bootstrap.
    """
    weights = np.vstack([np.full(len(joint), 1.0), resampling_weights(len(joint), seed=seed)]) / len(joint)
    variance = weights @ joint**2 - (weights @ joint) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        r2 = np.where(variance > 0, 1 - weights @ (joint - predicted) ** 2 / variance, np.nan)
    low, high = np.nanquantile(r2[1:], [0.025, 0.975]) if np.isfinite(r2[1:]).any() else (np.nan, np.nan)
    return Interval(r2[0], np.asarray(low), np.asarray(high))
