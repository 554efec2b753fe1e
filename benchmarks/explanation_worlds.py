"""Do the intervals of explained shares hold the true share? Made-up heads in documents of random tokens.

A head attends to the first token and the previous one, by scores that differ between documents, and to anything by
noise. The true share is what the two predictions of a run, one fitted on each half of its documents, explain of 3,000
documents that it has not read. Of the 95% intervals 93 to 97% should hold it. How far shares differ between runs, whose
predictions differ, is printed beside: intervals are of the predictions that were made.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cells import Cell, print_cells
from headscope.analyses.explanation.catalog import FEATURES
from headscope.analyses.explanation.explain import explain
from headscope.analyses.explanation.explanation_tables import explained_interval
from headscope.analyses.explanation.kept_rows import KeptSegment
from headscope.analyses.explanation.row_context import RowContext, Tokens
from headscope.analyses.explanation.row_sample import SampledRows
from headscope.analyses.explanation.sample_design import SampleDesign, sample_design
from headscope.analyses.explanation.tables import WEIGHT
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts

KEYS, ROWS, HEADS = 16, 8, 6
NAMES = ("previous", "next", "current", "first", "word_start")
WORLDS = {"alike": (0.0, False), "differ": (1.0, False), "differ, of 1 to 16 rows": (1.0, True)}
"""How far scores differ between documents, in nats, and whether documents differ in size."""
SIZES = (10, 30, 100)
UNREAD = 3000
"""Documents that say what the true share is: so many that their own error widens no interval by more than 2%."""


def documents_of(world: str, number: int, rng: np.random.Generator) -> tuple[list[SampledRows], VocabularyFacts]:
    """Return made-up rows of documents, with the attention of heads.

    Args:
        world: of `WORLDS`.
        number: of documents.
        rng: draws.
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
    return samples, VocabularyFacts.of_names({number: f"w{number}" for number in range(400)})


def design_of(samples: list[SampledRows], vocabulary: VocabularyFacts) -> SampleDesign:
    """Return the features of made-up rows."""

    def context_of(sample: SampledRows, visible: NDArray[np.bool_]) -> RowContext:
        tokens = sample.segment.keys
        return RowContext(rows=sample.rows, visible=visible, queries=tokens, keys=tokens, vocabulary=vocabulary)

    return sample_design(samples, [FEATURES[name] for name in NAMES], context_of, seed=0)


def left_and_whole(
    design: SampleDesign, parities: tuple[int, ...] = (0, 1)
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what is left of every head and what there was to explain, in nats, `[document, head]`.

    Args:
        design: of the rows.
        parities: which documents fit, by turns; those of even number alone, or those of odd number, too.
    """
    heads = explain(design, [0], (WEIGHT,), parities=parities)[0][WEIGHT]
    whole = np.stack([head.to_explain for head in heads], axis=1)
    return np.stack([head.left for head in heads], axis=1), whole


def true_shares(design: SampleDesign, number: int) -> NDArray[np.float64]:
    """Return what the predictions of the first documents explain of the others, `[head]`.

    Args:
        design: of the documents of a run, and of others.
        number: of documents of the run.
    """
    read = np.array([int(name) < number for name in design.names])
    # The order of a run is that of the hash, in which every other document belongs to one half.
    of_run = np.cumsum(read) - 1
    left = to_explain = np.zeros(HEADS)
    for parity in (0, 1):
        # Documents of even number fit, those of odd number measure; the other half of the run does neither.
        fits, unread = read & (of_run % 2 == parity), ~read
        numbers = np.full(len(read), -1)
        numbers[fits] = 2 * np.arange(fits.sum())
        numbers[unread] = 2 * np.arange(unread.sum()) + 1
        left_over, whole = left_and_whole(_renumbered(design, numbers), (0,))
        left = left + left_over[1::2].sum(0)
        to_explain = to_explain + whole[1::2].sum(0)
    return np.asarray(1 - left / to_explain)


def _renumbered(design: SampleDesign, numbers: NDArray[np.int64]) -> SampleDesign:
    """Return the design of the documents with a number, in its order.

    Args:
        design: of documents.
        numbers: of each document; -1 leaves it out.
    """
    number_of = dict(zip(design.names, numbers.tolist(), strict=True))
    samples = [sample for sample in design.samples if number_of[sample.document] >= 0]
    names = [f"none {number}" for number in range(numbers.max() + 1)]
    for name, number in number_of.items():
        if number >= 0:
            names[number] = name
    part, cells = design.design.only(np.flatnonzero(numbers[design.documents] >= 0))
    of_rows = [np.full(len(sample.rows), number_of[sample.document]) for sample in samples]
    visible = [
        seen for sample, seen in zip(design.samples, design.visible, strict=True) if number_of[sample.document] >= 0
    ]
    return replace(
        design,
        samples=samples,
        design=part,
        documents=np.concatenate(of_rows),
        names=names,
        key_ids=design.key_ids[cells],
        named=design.named[cells],
        is_sink=design.is_sink[cells],
        is_sink_logit=design.is_sink_logit[cells],
        visible=visible,
    )


def coverage(task: tuple[str, int, int]) -> list[Cell]:
    """Return how many intervals hold the true share.

    Args:
        task: world, number of documents, number of runs.
    """
    world, number, runs = task
    held, values = [], []
    for seed in range(runs):
        samples, vocabulary = documents_of(world, number + UNREAD, np.random.default_rng((seed, number, len(world))))
        interval = explained_interval(*left_and_whole(design_of(samples[:number], vocabulary)))
        truth = true_shares(design_of(samples, vocabulary), number)
        held.append((interval.low <= truth) & (truth <= interval.high))
        values.append(interval.value)
    world = f"documents {world}"
    return [
        Cell("coverage", world, number, runs * HEADS, float(np.mean(held))),
        Cell("explained-share", world, number, runs * HEADS, float(np.mean(values))),
        Cell("spread-between-runs", world, number, runs * HEADS, float(np.std(values))),
    ]


def plan(*, quick: bool) -> Iterator[tuple]:
    """Yield what to run."""
    for world in WORLDS:
        for number in SIZES[: 2 if quick else 3]:
            yield coverage, (world, number, 6 if quick else 40)


if __name__ == "__main__":
    raise SystemExit(print_cells(plan, description=__doc__))
