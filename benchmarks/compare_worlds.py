"""How often the verdicts of `headscope compare` are wrong, in simulated worlds with known changes.

    python benchmarks/compare_worlds.py [--runs N]

Documents have unequal sizes, and a document that moves one head moves all (a shared effect). In the first table, heads
change by a multiple of the margin: below it any *changed* is wrong, from it on any *same* is wrong, and the rest is
power. In the second, two models do not differ in any measure, and measures are correlated: any significant difference
is wrong; and no head has a match: any match is wrong.
"""

import argparse
from functools import partial

import numpy as np

from headscope.analyses.compare.pairs import CHANGED, MARGIN, MATCH_QUANTILE, SAME, assigned, judged, matches, verdicts
from headscope.statistics.inference.confidence import interval_of, ratio_interval
from headscope.statistics.inference.estimate import difference
from headscope.statistics.inference.significance import SIGNIFICANT, false_discovery, p_either_side

HEADS = 72
MEASURES = 20
NOISE = 0.8  # standard deviation of the logarithm of a document's change
SHARED = 0.5  # share of its variance that all heads have in common
DOCUMENTS = (10, 20, 50, 200)


def sizes(generator: np.random.Generator, documents: int) -> np.ndarray:
    """Return the number of rows of each document."""
    return np.maximum(1, np.exp(generator.normal(4, 1, documents))).astype(np.int64)


def noise(generator: np.random.Generator, *shape: int) -> np.ndarray:
    """Return the effects of documents on heads, part of which all heads share, `[document, ...]`."""
    shared = generator.normal(size=(shape[0], *([1] * (len(shape) - 1)))) * np.sqrt(SHARED)
    return shared + generator.normal(size=shape) * np.sqrt(1 - SHARED)


def world(generator: np.random.Generator, change: float, *, documents: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sums over the rows of each document and its number of rows; the mean over all rows is `change`."""
    rows = sizes(generator, documents)
    by_document = change * np.exp(NOISE * noise(generator, documents, HEADS) - NOISE**2 / 2)
    return by_document * rows[:, None], np.broadcast_to(rows[:, None], (documents, HEADS)).astype(float)


def any_measure_differs(generator: np.random.Generator, *, documents: int) -> bool:
    """Return True if a difference is significant between two models without a difference."""
    shape = (documents, HEADS * MEASURES)
    rows = np.broadcast_to(sizes(generator, documents)[:, None], shape).astype(float)
    sides = [rows * np.exp(NOISE * noise(generator, *shape)) for _ in range(2)]
    p = p_either_side(difference(sides[1], rows, sides[0], rows))
    return bool((false_discovery(p) < SIGNIFICANT).any())


def any_match(generator: np.random.Generator, *, documents: int, permuted: float = 1, random: float = 1) -> bool:
    """Return True if any heads match, where heads of the two models are as far apart as permuted or random ones.

    Args:
        generator: generator of random numbers.
        documents: number of documents.
        permuted: divergence of permuted heads, as a multiple of that of the heads.
        random: divergence from random weights, likewise.
    """
    rows = sizes(generator, documents)
    sums = [
        0.3 * times * rows[:, None, None] * np.exp(0.2 * noise(generator, documents, HEADS, HEADS))
        for times in (1, permuted, random)
    ]
    own, _ = assigned(sums[0].sum(0))
    chosen, nearest = (judged(each, rows, own, seed=0, one_to_one=n == 0) for n, each in enumerate(sums[:2]))
    count = np.broadcast_to(rows[:, None], chosen.shape).astype(float)
    below = difference(chosen, count, nearest, count)
    mean = sums[2].sum(0) / rows.sum()
    found = matches(
        lambda level: interval_of(below, scale="real", confidence=level),
        lambda level: ratio_interval(chosen, count, scale="positive", confidence=level),
        threshold=float(np.quantile(mean[assigned(mean)], MATCH_QUANTILE)),
    )
    return bool((found == True).any())  # noqa: E712


def main() -> None:
    """Print the share of runs with a wrong verdict, and the share of heads with the right one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=500)
    given = parser.parse_args()
    print(
        "| documents | true change / margin | runs with a *changed* | runs with a *same* | heads changed | heads same |"
    )
    print("|---|---|---|---|---|---|")
    for documents in DOCUMENTS:
        for factor in (0.25, 0.5, 0.9, 1.0, 1.5, 2.0, 4.0):
            generator = np.random.default_rng([documents, int(100 * factor)])
            found = []
            for _ in range(given.runs):
                sums, rows = world(generator, factor * MARGIN, documents=documents)
                interval = partial(ratio_interval, sums, rows, scale="positive")
                verdict = verdicts(lambda level, at=interval: at(confidence=level))
                found.append(((verdict == CHANGED).mean(), (verdict == SAME).mean()))
            changed, same = np.array(found).T
            print(
                f"| {documents} | {factor} | {(changed > 0).mean():.1%} | {(same > 0).mean():.1%} "
                f"| {changed.mean():.1%} | {same.mean():.1%} |",
                flush=True,
            )
    print("\n| documents | runs with a difference of a measure | with a match no nearer than permuted | than random |")
    print("|---|---|---|---|")
    for documents in DOCUMENTS:
        generator = np.random.default_rng([documents, 1])
        wrong = [
            np.mean([test(generator, documents=documents) for _ in range(given.runs)])
            for test in (any_measure_differs, partial(any_match, random=5), partial(any_match, permuted=5))
        ]
        print(f"| {documents} | {' | '.join(f'{each:.1%}' for each in wrong)} |", flush=True)


if __name__ == "__main__":
    main()
