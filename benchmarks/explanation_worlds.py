"""Coverage of the intervals of explained shares, with simulated heads in documents of random tokens.

A head attends to the first token and the previous one, by scores that differ between documents, and to any token by
noise. The true share is the share that the two predictions of a run, one fitted on each half of its documents, explain
of 3,000 documents that the run has not read. 93 to 97% of the 95% intervals should contain it. The spread of shares
between runs, whose predictions differ, is also printed: intervals are for the fitted predictions.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from cells import Cell, print_cells
from headscope.analyses.explanation.catalog import FEATURES
from headscope.analyses.explanation.columns import Columns
from headscope.analyses.explanation.divergences import HeadExplanation
from headscope.analyses.explanation.explain import explain
from headscope.analyses.explanation.row_block import RowBlock
from headscope.analyses.explanation.row_context import RowContext, Tokens
from headscope.analyses.explanation.sample import RowSample, row_sample
from headscope.analyses.explanation.sums import KeptSegment, SampledRows
from headscope.analyses.explanation.table_rows import explained_interval
from headscope.analyses.explanation.tables import WEIGHT
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts

KEYS, ROWS, HEADS = 16, 8, 6
NAMES = ("previous", "next", "current", "first", "word_start")
WORLDS = {"alike": (0.0, False), "differ": (1.0, False), "differ, of 1 to 16 rows": (1.0, True)}
"""Standard deviation of scores between documents, in nats, and True if documents differ in size."""
SIZES = (10, 30, 100)
UNREAD = 3000
"""Number of documents that determine the true share: their own error widens no interval by more than 2%."""


VOCABULARY = VocabularyFacts.of_names({number: f"w{number}" for number in range(400)})


def documents_of(world: str, number: int, rng: np.random.Generator) -> list[SampledRows]:
    """Return simulated rows of documents, with the attention of heads.

    Args:
        world: a key of `WORLDS`.
        number: number of documents.
        rng: generator of the random draws.
    """
    spread, uneven = WORLDS[world]
    samples = []
    for document in range(number):
        ids = rng.integers(1, 400, KEYS)
        tokens = Tokens(ids=ids, classes=np.full(KEYS, 4), word_ids=np.arange(KEYS))
        rows = np.sort(rng.choice(KEYS, rng.integers(1, KEYS + 1) if uneven else ROWS, replace=False))
        offset = np.arange(KEYS)[None] - rows[:, None]
        scores = [3.0 + spread * rng.normal(size=HEADS) for _ in range(2)]
        logits = scores[0][:, None, None] * (np.arange(KEYS) == 0) + scores[1][:, None, None] * (offset == -1)
        weights = np.exp(logits + 0.7 * rng.normal(size=logits.shape))
        attention = np.full((2, 1, HEADS, len(rows), KEYS + 1), np.nan, dtype=np.float32)
        attention[0, 0, :, :, :-1] = weights / weights.sum(-1, keepdims=True)
        segment = KeptSegment(tokens, tokens, {})
        samples.append(SampledRows(f"{document:03}", 0, segment, rows, attention))
    return samples


def context_of(sample: SampledRows, visible: NDArray[np.bool_]) -> RowContext:
    """Return the context of a document's rows."""
    tokens = sample.segment.keys
    return RowContext(rows=sample.rows, visible=visible, queries=tokens, keys=tokens, vocabulary=VOCABULARY)


class Unread:
    """Documents that no run has read.

    Args:
        samples: rows of the documents.
        columns: columns of a run's fit, which depend only on the features.
    """

    def __init__(self, samples: Sequence[SampledRows], columns: Columns) -> None:
        blocks, attention = [], []
        for sample in samples:
            cells = np.ones((len(sample.rows), KEYS + 1), dtype=bool)
            cells[:, -1] = False
            features, facts = columns.compute(context_of(sample, cells[:, :-1]), cells)
            visible = cells[:, :-1]
            numbers = np.arange(visible.size).reshape(visible.shape)
            blocks.append(
                RowBlock(
                    features=features,
                    visible=visible,
                    rows=sample.rows,
                    cells=numbers,
                    facts=facts,
                    products=columns.products,
                )
            )
            attention.append(sample.attention[0, 0, :, :, :-1])
        self.rows = RowBlock.joined(blocks)
        self.attention = np.concatenate(attention, axis=1).astype(np.float64)
        self.whole = (self.attention * np.log(self.attention * KEYS)).sum((1, 2))

    def share(self, coefficients: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the share that a fit explains, `[head]`.

        Args:
            coefficients: coefficients of the fit, `[column, head]`.
        """
        logits = self.rows.logits(coefficients).T.reshape(self.attention.shape).astype(np.float64)
        logs = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
        left = (self.attention * (np.log(self.attention) - logs)).sum((1, 2))
        return np.asarray(1 - left / self.whole)


def explained_heads(samples: Sequence[SampledRows]) -> tuple[RowSample, list[HeadExplanation]]:
    """Explain the heads of a run."""
    sample = row_sample(samples, [FEATURES[name] for name in NAMES], context_of, seed=0)
    (heads,) = explain(sample, 1, (WEIGHT,), ordered=False)[WEIGHT]
    return sample, heads


def coverage(task: tuple[str, int, int]) -> list[Cell]:
    """Return the share of intervals that contain the true share.

    Args:
        task: world, number of documents, number of runs.
    """
    world, number, runs = task
    held, values = [], []
    unread: Unread | None = None
    for seed in range(runs):
        rng = np.random.default_rng((seed, number, len(world)))
        sample, heads = explained_heads(documents_of(world, number, rng))
        if unread is None:
            others = np.random.default_rng((runs, number, len(world)))
            unread = Unread(documents_of(world, UNREAD, others), sample.columns)
        left, whole = (np.stack([getattr(head, of) for head in heads], axis=1) for of in ("left", "to_explain"))
        interval = explained_interval(left, whole)
        fits = [np.stack([head.coefficients[half] for head in heads], axis=1) for half in (0, 1)]
        truth = np.mean([unread.share(coefficients) for coefficients in fits], axis=0)
        held.append((interval.low <= truth) & (truth <= interval.high))
        values.append(interval.value)
    world = f"documents {world}"
    return [
        Cell("coverage", world, number, runs * HEADS, float(np.mean(held))),
        Cell("explained-share", world, number, runs * HEADS, float(np.mean(values))),
        Cell("spread-between-runs", world, number, runs * HEADS, float(np.std(values))),
    ]


def plan(*, quick: bool) -> Iterator[tuple]:
    """Yield the tasks to run."""
    for world in WORLDS:
        for number in SIZES[: 2 if quick else 3]:
            yield coverage, (world, number, 6 if quick else 40)


if __name__ == "__main__":
    raise SystemExit(print_cells(plan, description=__doc__))
