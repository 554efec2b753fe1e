"""Heads as points in the plane, as far apart as their divergences say: metric multidimensional scaling."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESTARTS = 4
MOST_RESTARTED = 400
"""Beyond so many heads only the classical start is tried, which was as good as 16 random ones on 72 heads."""


@dataclass(frozen=True, kw_only=True)
class Embedding:
    """Heads as points (paper section 6, figure 6).

    Attributes:
        x, y: places, in nats, `[head]`: centered, the longer axis along x.
        stress: Kruskal's stress-1, the root of the sum of squared errors over the sum of squared distances in the
            plane; 0 is exact, 0.1 fair, 0.2 poor.
    """

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    stress: float


def embed(divergence: NDArray[np.float64], *, seed: int = 0, restarts: int = RESTARTS) -> Embedding:
    """Embed heads in the plane by metric scaling of their divergences (scikit-learn's SMACOF).

    It starts from the classical solution and from random places, and keeps the result of least stress.

    Args:
        divergence: in nats, symmetric with a zero diagonal, `[head, head]`.
        seed: of the random starts.
        restarts: how many of them.
    """
    from sklearn.manifold import MDS

    heads = len(divergence)
    if heads < 2 or not divergence.any():
        # Nothing is apart: one point, without error.
        return Embedding(x=np.zeros(heads), y=np.zeros(heads), stress=0.0)
    best, least = np.zeros((heads, 2)), np.inf
    for init, starts in (("classical_mds", 1), ("random", restarts if heads <= MOST_RESTARTED else 0)):
        if starts < 1:
            continue
        scaling = MDS(
            n_components=2,
            metric_mds=True,
            metric="precomputed",
            init=init,
            n_init=starts,
            max_iter=500,
            random_state=seed,
            normalized_stress=True,
        )
        places = np.asarray(scaling.fit_transform(divergence), dtype=np.float64)
        # A start that is as good to rounding does not replace the classical one, which has no luck in it.
        if scaling.stress_ < least - 1e-9:
            best, least = places, float(scaling.stress_)
    turned = _turned(best)
    return Embedding(x=turned[:, 0], y=turned[:, 1], stress=stress_of(turned, divergence))


def stress_of(places: NDArray[np.float64], divergence: NDArray[np.float64]) -> float:
    """Return Kruskal's stress-1 of places `[head, 2]` for the divergences `[head, head]`; 0 where all is one point."""
    a, b = np.triu_indices(len(places), k=1)
    apart = np.linalg.norm(places[a] - places[b], axis=1)
    total = float((apart**2).sum())
    return float(np.sqrt(((apart - divergence[a, b]) ** 2).sum() / total)) if total > 0 else 0.0


def _turned(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Center and turn to the main axes, the longer tail to the right and upwards: the same picture every time."""
    centered = places - places.mean(0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    turned = centered @ axes.T
    tails = (turned**3).sum(0)
    return np.asarray(turned * np.where(tails < 0, -1.0, 1.0), dtype=np.float64)
