"""k-means of many heads at once: all starts together, on a part of the rows first, until labels stand still."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STARTS = 10
_FIRST_ROWS = 512
"""Rows on which all starts are tried; they come in the order of their hashes, so the first ones are a random sample."""
_FIRST_ROUNDS = 4
_FINISHED = 2
"""So many of the starts, the best on those rows, go on over all rows."""
_MOST_ROUNDS, _STILL = 100, 0.002
_NUMBERS_AT_ONCE = 1 << 17
"""Distances computed at once: 1 MiB stays in a processor's cache."""


def k_means(points: Floats, weights: Floats, number: int, *, seed: int) -> Floats:
    """Return the centers of the best of ten starts for each head, `[head, number, feature]`.

    Starts are drawn as k-means++ draws them (Arthur and Vassilvitskii 2007), on the first 512 rows; the two with the
    least inertia after four rounds there are finished on all rows.

    Args:
        points: `[head, row, feature]`; rows and features that a head lacks are 0.
        weights: how much each row counts, 0 where a head lacks it, `[head, row]`.
        number: of clusters.
        seed: of the starts; a head's do not depend on the other heads.
    """
    heads, rows, features = points.shape
    found = np.empty((heads, number, features))
    at_once = max(1, _NUMBERS_AT_ONCE // (STARTS * number * min(rows, _FIRST_ROWS)))
    for begin in range(0, heads, at_once):
        part = slice(begin, begin + at_once)
        few, counts = points[part, :_FIRST_ROWS], weights[part, :_FIRST_ROWS]
        centers, inertia = lloyd(few, counts, _starts(few, counts, number, seed=seed), rounds=_FIRST_ROUNDS)
        best = np.argsort(inertia, axis=1, kind="stable")[:, :_FINISHED]
        centers = np.take_along_axis(centers, best[:, :, None, None], axis=1)
        centers, inertia = lloyd(points[part], weights[part], centers, still=_STILL)
        found[part] = centers[np.arange(len(centers)), inertia.argmin(1)]
    return found


def lloyd(
    points: Floats, weights: Floats, starts: Floats, *, rounds: int = _MOST_ROUNDS, still: float = 0.0
) -> tuple[Floats, Floats]:
    """Return the centers that starts lead to, and their inertia, `[head, start, number, feature]`, `[head, start]`.

    Heads whose labels stand still are left out of further rounds. A center that no row is nearest to stays.

    Args:
        points, weights: as `k_means` takes them.
        starts: centers to begin with, `[head, start, number, feature]`.
        rounds: at most.
        still: the share of a head's rows that may change their label in a round that is its last.
    """
    centers, inertia = starts.copy(), np.empty(starts.shape[:2])
    lengths = np.einsum("hrf,hrf,hr->h", points, points, weights)
    going = np.arange(len(points))
    own, own_weights = points, weights
    last: NDArray[np.int8] | None = None
    for turn in range(rounds + 1):
        labels, nearest = nearest_of(own, centers[going])
        inertia[going] = lengths[going, None] + np.einsum("hsr,hr->hs", nearest, own_weights)
        if turn == rounds:
            break
        if last is not None:
            moved = ((labels != last) & (own_weights > 0)[:, None]).sum(2).max(1)
            moving = moved > still * (own_weights > 0).sum(1)
            if not moving.any():
                break
            if not moving.all():
                going, labels, own, own_weights = (
                    going[moving],
                    labels[moving],
                    own[moving],
                    own_weights[moving],
                )
        last = labels
        clusters = np.arange(centers.shape[2], dtype=np.int8)[:, None]
        inside = (labels[:, :, None] == clusters) * own_weights[:, None, None]
        whole = inside.sum(3)[..., None]
        sums = (inside.reshape(len(own), -1, inside.shape[3]) @ own).reshape(*inside.shape[:3], -1)
        centers[going] = np.where(whole > 0, sums / np.maximum(whole, 1e-300), centers[going])
    return centers, inertia


def nearest_of(points: Floats, centers: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return the nearest center of each row and its squared distance less the row's own length, `[head, start, row]`.

    Args:
        points: `[head, row, feature]`.
        centers: `[head, start, number, feature]`.
    """
    heads, starts, number, features = centers.shape
    flat = centers.reshape(heads, starts * number, features)
    # |x - c|^2 less |x|^2, which is the same for all centers.
    apart = flat @ points.transpose(0, 2, 1)
    apart *= -2.0
    apart += (flat**2).sum(2)[..., None]
    apart = apart.reshape(heads, starts, number, -1)
    nearest, labels = apart[:, :, 0].copy(), np.zeros(apart[:, :, 0].shape, dtype=np.int8)
    for cluster in range(1, number):
        # Clusters come in their order, so that the larger number is the later one: no label is set through a mask.
        nearer = (apart[:, :, cluster] < nearest).view(np.int8)
        np.maximum(labels, nearer * np.int8(cluster), out=labels)
        np.minimum(nearest, apart[:, :, cluster], out=nearest)
    return labels, nearest


def _starts(points: Floats, weights: Floats, number: int, *, seed: int) -> Floats:
    """Draw centers among the rows, each with odds as the squared distance from those drawn before."""
    heads, rows, features = points.shape
    generator = np.random.default_rng(seed)
    drawn = generator.random((number, STARTS))
    found = np.empty((heads, STARTS, number, features))
    odds = np.broadcast_to(weights[:, None], (heads, STARTS, rows))
    lengths = (points**2).sum(2)[:, None]
    apart: Floats | None = None
    for cluster in range(number):
        so_far = np.cumsum(odds, axis=2)
        picked = (so_far <= drawn[cluster][None, :, None] * so_far[:, :, -1:]).sum(2).clip(max=rows - 1)
        found[:, :, cluster] = points[np.arange(heads)[:, None], picked]
        own = nearest_of(points, found[:, :, cluster : cluster + 1])[1] + lengths
        apart = own if apart is None else np.minimum(apart, own)
        odds = np.maximum(apart, 0.0) * weights[:, None]
    return found
