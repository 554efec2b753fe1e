"""Intervals of distances from few groups of documents: they hold the truth as often as they say, in simulation."""

import numpy as np
import pytest

from headscope.statistics.inference.confidence import ratio_interval
from headscope.statistics.sums.groups import GroupedSums

TRUTH, PAIRS, RUNS = 0.2, 40, 120
SIZES = {
    "equal": lambda rng, number: np.full(number, 20.0),
    "mild": lambda rng, number: rng.integers(1, 21, number).astype(float),
    "heavy-tailed": lambda rng, number: np.ceil(np.exp(rng.normal(3, 1.2, number))),
}


def grouped(values, sizes, groups, *, run):
    """The sums of documents as an accumulator keeps them, in so many groups by a hash of their id."""
    sums = GroupedSums({"apart": (PAIRS,), "n_rows": ()}, groups=groups)
    for number, (own, size) in enumerate(zip(values, sizes)):
        sums.add(f"{run}/{number}", apart=own * size, n_rows=np.array(int(size)))
    stacked = sums.stacked()
    return stacked["apart"], stacked["n_rows"].astype(float)


@pytest.mark.slow
@pytest.mark.parametrize("world", SIZES)
@pytest.mark.parametrize("documents", [10, 30, 100])
def test_eight_groups_cover_as_32_do(world, documents):
    """Documents lie around the truth, each with noise by row: 4,800 intervals, those of a run on the same documents."""
    rng = np.random.default_rng(documents)
    covered, widths = {8: [], 32: []}, {8: [], 32: []}
    for run in range(RUNS):
        sizes = SIZES[world](rng, documents)
        own = TRUTH * np.exp(0.4 * rng.normal(size=(documents, PAIRS)) - 0.08)
        noise = 0.15 * rng.normal(size=own.shape) / np.sqrt(sizes)[:, None]
        values = np.maximum(own + noise, 1e-4)
        for groups in covered:
            sums, rows = grouped(values, sizes, groups, run=run)
            found = ratio_interval(sums, rows[:, None], scale="positive", documents=documents)
            covered[groups].append((found.low <= TRUTH) & (found.high >= TRUTH))
            widths[groups].append(np.log(found.high / found.low).mean())
    for groups in covered:
        assert 0.925 <= np.mean(covered[groups]) <= 0.985, groups
    # What fewer groups cost: a quantile of Student's t with fewer degrees of freedom, and a longer reach for a tail.
    if documents == 100 and world != "heavy-tailed":
        assert 1.05 < np.mean(widths[8]) / np.mean(widths[32]) < 1.45
