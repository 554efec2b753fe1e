"""Coverage of intervals of values: positive ones, small shares of attention, ratios and differences of heads."""

import numpy as np

from cells import Cell, covered
from headscope.statistics.inference.confidence import difference_interval, ratio_interval
from worlds import Means, attention_shares, positive_values

HEADS = 8


def of_positive(task: tuple[str, float, int, int]) -> list[Cell]:
    """Draw positive values, such as norms and entropies, and compute the coverage of the intervals of their mean.

    Args:
        task: distribution of document sizes, spread of the document effect (log scale), documents, runs.
    """
    world, effects, documents, runs = task
    rng = np.random.default_rng([documents, 8])
    made = positive_values(world, effects=effects, documents=documents, runs=runs, rng=rng)
    found = ratio_interval(made.sums, made.counts, scale="positive")
    name = f"positive value, effects {effects}, {world}"
    return [Cell("coverage", name, documents, runs, covered(found.low, found.high, made.truth))]


def of_shares(task: tuple[str, float, float, int, int]) -> list[Cell]:
    """Draw rows of which few show a behavior, and compute the coverage of the intervals of its share of attention.

    Args:
        task: distribution of document sizes, share of rows, spread of the document effect (log odds), documents, runs.
    """
    world, share, effects, documents, runs = task
    rng = np.random.default_rng([documents, 9])
    made = attention_shares(world, share=share, effects=effects, documents=documents, runs=runs, rng=rng)
    found = ratio_interval(made.sums, made.counts, scale="share")
    name = f"behavior in {share} of rows, effects {effects}, {world}"
    return [Cell("coverage", name, documents, runs, covered(found.low, found.high, made.truth))]


def of_layers(task: tuple[str, float, int, int]) -> list[Cell]:
    """Draw layers of equal heads: one head's value over the layer's mean is 1, and its difference from another's is 0.

    Args:
        task: as for `of_positive`; the effects are each head's own, in addition to one that the layer shares.
    """
    world, effects, documents, runs = task
    rng = np.random.default_rng([documents, 10])
    shared = positive_values(world, effects=effects, documents=documents, runs=runs, rng=rng)
    heads = [_beside(shared, effects, rng) for _ in range(HEADS)]
    of_mean = ratio_interval(heads[0], np.mean(heads, axis=0), scale="positive")
    gap = difference_interval(heads[0], shared.counts, heads[1], shared.counts)
    name = f"effects {effects}, {world}"
    return [
        Cell("coverage", f"head / layer, {name}", documents, runs, covered(of_mean.low, of_mean.high, 1.0)),
        Cell("coverage-at-least", f"head - head, {name}", documents, runs, covered(gap.low, gap.high, 0.0)),
    ]


def _beside(shared: Means, effects: float, rng: np.random.Generator) -> np.ndarray:
    """Multiply each document's sum by the head's own effect on the document."""
    return np.asarray(shared.sums * np.exp(rng.normal(0, effects, shared.sums.shape)))
