"""How often the verdicts of `headscope compare` are wrong, in simulated worlds with a known change of every head.

    python benchmarks/compare_worlds.py [--runs N]

Documents have unequal sizes, and a document that moves one head moves all (a shared effect). Three worlds: no head
changes by more than nine tenths of the margin (any *changed* is wrong), all heads change by the margin exactly (any
*same* is wrong, and any *changed*), and heads change by a multiple of the margin (power).
"""

import argparse
from functools import partial

import numpy as np

from headscope.analyses.compare.pairs import CHANGED, MARGIN, SAME, verdicts
from headscope.statistics.inference.confidence import ratio_interval

HEADS = 72
NOISE = 0.8  # standard deviation of the logarithm of a document's change
SHARED = 0.5  # share of its variance that all heads have in common


def world(generator: np.random.Generator, change: float, *, documents: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sums over the rows of each document and its number of rows; the mean over all rows is `change`."""
    rows = np.maximum(1, np.exp(generator.normal(4, 1, documents))).astype(np.int64)
    shared = generator.normal(size=(documents, 1)) * np.sqrt(SHARED)
    own = generator.normal(size=(documents, HEADS)) * np.sqrt(1 - SHARED)
    by_document = change * np.exp(NOISE * (shared + own) - NOISE**2 / 2)
    return by_document * rows[:, None], np.broadcast_to(rows[:, None], (documents, HEADS)).astype(float)


def main() -> None:
    """Print the share of runs with a wrong verdict, and the share of heads with the right one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    given = parser.parse_args()
    print(
        "| documents | true change / margin | runs with a *changed* | runs with a *same* | heads changed | heads same |"
    )
    print("|---|---|---|---|---|---|")
    for documents in (10, 20, 50, 200):
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


if __name__ == "__main__":
    main()
