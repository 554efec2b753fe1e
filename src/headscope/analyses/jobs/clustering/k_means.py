"""k-means of many heads at once: all starts together, on some of the rows first, until labels stop changing."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

STARTS = 10
_FIRST_ROWS = 512
"""Number of rows on which all starts are tried; rows are ordered by hash, so the first are a random sample."""
_FIRST_ROUNDS = 4
_FINISHED = 2
"""Number of starts, the best on those rows, that are finished on all rows."""
_MOST_ROUNDS, _STILL = 100, 0.002
_NUMBERS_AT_ONCE = 1 << 17
"""Number of distances computed at once; 1 MiB fits into a processor's cache."""


def k_means(points: Floats, weights: Floats, number: int, *, seed: int) -> Floats:
    """Return the centers of the best of ten starts for each head, `[head, number, feature]`.

    Starts are drawn as k-means++ draws them (Arthur and Vassilvitskii 2007), on the first 512 rows; the two with the
    least inertia after four rounds there are finished on all rows.

    Args:
        points: `[head, row, feature]`; rows and features that a head lacks are 0.
        weights: weight of each row, 0 where a head lacks it, `[head, row]`.
        number: number of clusters.
        seed: seed of the starts; those of a head do not depend on the other heads.
    """
    heads, rows, features = points.shape
    best_centers = np.empty((heads, number, features))
    at_once = max(1, _NUMBERS_AT_ONCE // (STARTS * number * min(rows, _FIRST_ROWS)))
    for begin in range(0, heads, at_once):
        chunk = slice(begin, begin + at_once)
        few, counts = points[chunk, :_FIRST_ROWS], weights[chunk, :_FIRST_ROWS]
        centers, inertia = lloyd(few, counts, _starts(few, counts, number, seed=seed), rounds=_FIRST_ROUNDS)
        best = np.argsort(inertia, axis=1, kind="stable")[:, :_FINISHED]
        centers = np.take_along_axis(centers, best[:, :, None, None], axis=1)
        centers, inertia = lloyd(points[chunk], weights[chunk], centers, still=_STILL)
        best_centers[chunk] = centers[np.arange(len(centers)), inertia.argmin(1)]
    return best_centers


def lloyd(
    points: Floats, weights: Floats, starts: Floats, *, rounds: int = _MOST_ROUNDS, still: float = 0.0
) -> tuple[Floats, Floats]:
    """Return the centers that starts converge to, `[head, start, number, feature]`, and their inertia, `[head, start]`.

    Heads whose labels no longer change are left out of further rounds. A center without rows stays where it is.

    Args:
        points, weights: as `k_means` takes them.
        starts: centers to begin with, `[head, start, number, feature]`.
        rounds: number of rounds at most.
        still: a head is finished after a round in which at most this share of its rows changes label.
    """
    centers, inertia = starts.copy(), np.empty(starts.shape[:2])
    lengths = np.einsum("hrf,hrf,hr->h", points, points, weights)
    going = np.arange(len(points))
    moving_points, moving_weights = points, weights
    last: NDArray[np.int8] | None = None
    for turn in range(rounds + 1):
        labels, nearest = nearest_of(moving_points, centers[going])
        inertia[going] = lengths[going, None] + np.einsum("hsr,hr->hs", nearest, moving_weights)
        if turn == rounds:
            break
        if last is not None:
            moved = ((labels != last) & (moving_weights > 0)[:, None]).sum(2).max(1)
            moving = moved > still * (moving_weights > 0).sum(1)
            if not moving.any():
                break
            if not moving.all():
                going, labels = going[moving], labels[moving]
                moving_points, moving_weights = moving_points[moving], moving_weights[moving]
        last = labels
        clusters = np.arange(centers.shape[2], dtype=np.int8)[:, None]
        inside = (labels[:, :, None] == clusters) * moving_weights[:, None, None]
        whole = inside.sum(3)[..., None]
        sums = (inside.reshape(len(moving_points), -1, inside.shape[3]) @ moving_points).reshape(*inside.shape[:3], -1)
        centers[going] = np.where(whole > 0, sums / np.maximum(whole, 1e-300), centers[going])
    return centers, inertia


def nearest_of(points: Floats, centers: Floats) -> tuple[NDArray[np.int8], Floats]:
    """Return the nearest center of each row, and its squared distance minus |row|^2, `[head, start, row]`.

    Args:
        points: `[head, row, feature]`.
        centers: `[head, start, number, feature]`.
    """
    heads, starts, number, features = centers.shape
    flat = centers.reshape(heads, starts * number, features)
    # |x - c|^2 minus |x|^2, which is the same for all centers.
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
    """Draw centers among the rows, with odds proportional to the squared distance from the nearest earlier center."""
    heads, rows, features = points.shape
    generator = np.random.default_rng(seed)
    draws = generator.random((number, STARTS))
    centers = np.empty((heads, STARTS, number, features))
    odds = np.broadcast_to(weights[:, None], (heads, STARTS, rows))
    lengths = (points**2).sum(2)[:, None]
    apart: Floats | None = None
    for cluster in range(number):
        so_far = np.cumsum(odds, axis=2)
        picked = (so_far <= draws[cluster][None, :, None] * so_far[:, :, -1:]).sum(2).clip(max=rows - 1)
        centers[:, :, cluster] = points[np.arange(heads)[:, None], picked]
        distances = nearest_of(points, centers[:, :, cluster : cluster + 1])[1] + lengths
        apart = distances if apart is None else np.minimum(apart, distances)
        odds = np.maximum(apart, 0.0) * weights[:, None]
    return centers
