"""Made-up distances between heads at planted points, with noise between documents."""

import numpy as np

from headscope.analyses.distances.compute import map_tables
from headscope.analyses.distances.sums import DivergenceResult
from headscope.analyses.distances.tables import pair_table
from support.measured import with_parts

ROWS = 40
MOST = 0.65


def divergences(layers, heads, *, groups=12, layered=0.0, noise=0.02, seed=0, kind="encoder", points=None):
    """Return a result whose heads are points in the plane; heads of a layer lie near the layer's own point.

    `layered` is the spread of the layers' points; each group of documents has noisy distances around the planted
    ones.
    """
    rng = np.random.default_rng(seed)
    if points is None:
        middle = layered * np.repeat(rng.normal(size=(layers, 2)), heads, axis=0)
        points = 0.1 * rng.normal(size=(layers * heads, 2)) + middle
    apart = np.linalg.norm(points[:, None] - points[None], axis=-1)
    # The divergence of two distributions is at most ln 2 nats.
    apart *= MOST / max(float(apart.max()), MOST)
    sums = np.empty((groups, len(apart), len(apart)))
    for group in range(groups):
        shaken = np.triu(apart * np.exp(noise * rng.normal(size=apart.shape)), 1) * ROWS
        sums[group] = shaken + shaken.T
    rows = np.full(groups, float(ROWS))
    return DivergenceResult(
        kind=kind,
        layers=layers,
        heads=heads,
        divergence=sums.sum(0) / rows.sum(),
        sampling_error=np.zeros_like(apart),
        n=int(rows.sum()),
        rows_read=int(rows.sum()),
        segments=groups,
        group_sums=sums,
        group_rows=rows,
        documents=groups,
    )


def with_distances(inputs, *, groups=12, layered=0.3, seed=0, finds=None):
    """Add distances, map, clusters and the effect of layers to a run."""
    results = [
        divergences(entry["layers"], entry["heads"], kind=entry["kind"], groups=groups, layered=layered, seed=seed)
        for entry in inputs.manifest["kinds"]
    ]
    names = zip(inputs.roles["kind"], inputs.roles["layer"], inputs.roles["head"])
    tables = map_tables(results, roles=dict(zip(names, inputs.roles["role"])), finds=finds, resamples=20)
    return with_parts(inputs, head_distances=pair_table(results), **tables)
