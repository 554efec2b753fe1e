"""Level and coverage of the tests of effects, on added losses of simulated documents with known truth.

False discovery: no head changes the loss; the share of runs of 144 heads with any discovery at q < 0.05 may not exceed
5%. Coverage: the share of 95% intervals of an added loss that contain the truth. Power: one head in eight costs half a
standard deviation of a document. A document has its own effect on each head, and one that heads share: normal, as
skewed as a gamma of shape 4 (1.0, to either side; those of headscope-decoder: -1.4 to 1.6, median 0.2), or with the
tails of Student's t with 5 degrees of freedom. Its inputs scatter about it by half as much. An attribution is such a
mean over documents, too.

Slope of effects on estimates: the share of its 95% intervals over heads that contain the truth. Estimates have the
tails of Student's t with 2 degrees of freedom; the largest effect fits its estimate, or is a hundred times as large.
"""

from collections.abc import Callable, Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

from cells import LEVEL, Cell, covered, print_cells
from headscope.analyses.effects.estimates import slope_of
from headscope.statistics.inference.confidence import ratio_interval
from headscope.statistics.inference.estimate import ratio
from headscope.statistics.inference.significance import false_discovery, p_either_side
from worlds import sizes

WORLDS = ("an input each", "mild", "heavy-tailed")
GROWING = "heavy-tailed, growing with size"
SHAPES = ("normal", "skewed", "long tails")
DOCUMENTS = (10, 30, 100, 256)
HEADS, CHANGED, RUNS = 144, 18, 400
_SHARED, _INPUTS, _EFFECT, _GROWTH = 0.35, 0.5, 0.5, 0.3
"""Relative to a document effect of 1: deviations of shared effects and inputs, an effect, growth by e-fold of size."""
_SLOPE = 1.5
Draws = tuple[NDArray[np.float64], NDArray[np.int64]]


def drawn(world: str, shape: str, documents: int, heads: int, rng: np.random.Generator) -> Draws:
    """Draw sums of added losses, `[document, head]`, whose means are 0, and numbers of inputs, `[document]`."""
    counts = np.ones(documents, dtype=np.int64)
    if world != "an input each":
        counts = sizes(world.partition(",")[0], (documents,), rng)
    if shape == "normal":
        own = rng.normal(size=(documents, heads))
    elif shape == "skewed":
        own = rng.choice([-1, 1], size=heads) * (rng.gamma(4.0, size=(documents, heads)) - 4) / 2
    else:
        own = rng.standard_t(5, size=(documents, heads)) / np.sqrt(5 / 3)
    shared = _SHARED * rng.normal(size=(documents, 1))
    inputs = _INPUTS * np.sqrt(counts)[:, None] * rng.normal(size=(documents, heads))
    sums = counts[:, None] * (own + shared) + inputs
    if world == GROWING:
        sums += counts[:, None] * _GROWTH * np.log(counts / 10)[:, None]
    return sums, counts


@cache
def truth_of(world: str) -> float:
    """Return the mean over inputs: 0, unless it depends on the number of inputs of a document."""
    if world != GROWING:
        return 0.0
    counts = sizes("heavy-tailed", (4_000_000,), np.random.default_rng(1))
    return float((counts * _GROWTH * np.log(counts / 10)).sum() / counts.sum())


def _q_values(sums: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return false_discovery(p_either_side(ratio(sums, counts[:, None])))


def of_test(task: tuple[str, str, int]) -> list[Cell]:
    """Compute the share of runs with a discovery among heads without effects, and the power among heads with effects.

    Args:
        task: distribution of document sizes, shape of the document effects, documents.
    """
    world, shape, documents = task
    named, power = 0, []
    for run in range(RUNS):
        rng = np.random.default_rng([run, documents, 11])
        sums, counts = drawn(world, shape, documents, HEADS, rng)
        named += bool((_q_values(sums, counts) < LEVEL).any())
        sums[:, :CHANGED] += counts[:, None] * _EFFECT
        power.append((_q_values(sums, counts)[:CHANGED] < LEVEL).mean())
    name = f"added loss, {HEADS} heads, {shape}, {world}"
    return [
        Cell("false-discovery", name, documents, RUNS, named / RUNS),
        Cell("power", name, documents, RUNS, float(np.mean(power))),
    ]


def of_intervals(task: tuple[str, str, int]) -> list[Cell]:
    """Compute the coverage of intervals of the mean, in runs of 8 heads.

    Args:
        task: as for `of_test`.
    """
    world, shape, documents = task
    shares = []
    for run in range(RUNS):
        sums, counts = drawn(world, shape, documents, 8, np.random.default_rng([run, documents, 12]))
        interval = ratio_interval(sums, counts[:, None], scale="real")
        shares.append(covered(interval.low, interval.high, truth_of(world)))
    name = f"added loss, {shape}, {world}"
    return [Cell("coverage", name, documents, 8 * RUNS, float(np.mean(shares)))]


def of_slopes(task: tuple[int, bool]) -> list[Cell]:
    """Compute the coverage of intervals over heads of the slope of effects on their estimates.

    Args:
        task: number of heads, and True if the largest effect is a hundred times as large as its estimate.
    """
    heads, outlier = task
    held = 0
    for run in range(RUNS):
        rng = np.random.default_rng([run, heads, 13])
        estimates = 0.01 * rng.standard_t(2, size=heads)
        effects = _SLOPE * estimates + 0.005 * rng.normal(size=heads)
        if outlier:
            effects[np.argmax(np.abs(estimates))] *= 100
        interval = slope_of(estimates, effects)
        held += bool(interval.low <= _SLOPE <= interval.high)
    name = f"slope of effects on estimates of these heads{', one effect a hundred times larger' if outlier else ''}"
    return [Cell("coverage", name, heads, RUNS, held / RUNS)]


def plan(*, quick: bool) -> Iterator[tuple[Callable[..., list[Cell]], tuple[str, str, int] | tuple[int, bool]]]:
    """Yield the tasks: two sizes of corpora in a `quick` round."""
    for heads in (32, 144):
        for outlier in (False, True):
            yield of_slopes, (heads, outlier)
    for documents in DOCUMENTS[1:3] if quick else DOCUMENTS:
        for world in WORLDS:
            for shape in SHAPES:
                yield of_test, (world, shape, documents)
                yield of_intervals, (world, shape, documents)
        yield of_intervals, (GROWING, "normal", documents)


if __name__ == "__main__":
    raise SystemExit(print_cells(plan, description=__doc__))
