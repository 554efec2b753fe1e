"""Refit explanations to masked inputs, on which an encoder's loss is computed.

A masked word attends differently from the word itself, and other rows see masked words as keys. Heads are therefore
refitted to the rows of masked words and to all other rows, each with the same halves of the documents.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.explain import explain
from headscope.analyses.explanation.features import Feature
from headscope.analyses.explanation.fitted import FittedHeads
from headscope.analyses.explanation.sample import contexts_of, row_sample, token_counts
from headscope.analyses.explanation.sums import RowSampleAccumulator
from headscope.analyses.explanation.tables import WEIGHT
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.encoding.loss_questions import Ask
from headscope.encoding.segment import Segment, SegmentInfo
from headscope.models.anatomy import KindLayout

HIDDEN_INPUTS = 512
"""Largest number of masked inputs to which explanations are refitted."""

FEWEST_ROWS = 100
"""Least number of rows in a half of the documents for refitting."""


class TokenRowsAccumulator(RowSampleAccumulator):
    """Keeps rows of one token, or of all others, with the smallest hashes; see `RowSampleAccumulator`.

    Args:
        layout: kinds of attention and their sizes.
        token: id of the token.
        others: True to keep the rows of all other tokens instead.
        **sample: further arguments of `RowSampleAccumulator`.
    """

    parameters: ClassVar[tuple[str, ...]] = (*RowSampleAccumulator.parameters, "token", "others")

    def __init__(self, layout: Sequence[KindLayout], *, token: int, others: bool, **sample: int) -> None:
        self.token, self.others = token, others
        super().__init__(layout, **sample)

    def positions(self, queries: SegmentInfo, item: int) -> NDArray[np.int64]:
        """Return the rows of an input of the batch that may belong to the sample."""
        is_token = (queries.ids[item][queries.valid[item]] == self.token).cpu().numpy()
        return np.flatnonzero(is_token != self.others)


def hidden_inputs(segments: Sequence[Segment], ask: Ask) -> list[Segment]:
    """Return the masked inputs on which the loss is computed."""
    questions = (ask(segment) for segment in segments)
    return [question.segment for question in questions if question is not None]


def fitted_again(
    rows: RowSampleAccumulator,
    fitted: Mapping[str, FittedHeads],
    features: Mapping[str, Feature],
    vocabulary: VocabularyFacts,
    *,
    seed: int,
) -> dict[str, FittedHeads]:
    """Refit the explanations to sampled rows, by kind of attention, with the same halves of the documents.

    Args:
        rows: sampled rows.
        fitted: fits to the unmasked text; kept where there are fewer than `FEWEST_ROWS` rows.
        features: features of the catalog, by name.
        vocabulary: vocabulary facts without the frequencies of a text.
        seed: seed of the order of documents that were not divided before.
    """
    results = {}
    for part in rows.layout:
        samples = rows.compute()[part.kind]
        if not samples:
            continue
        before = fitted[part.kind]
        counted = vocabulary.with_counts(token_counts(samples))
        sample = row_sample(samples, list(features.values()), contexts_of(counted), seed=seed, divided=before.documents)
        if np.bincount(sample.documents % 2, minlength=2).min() < FEWEST_ROWS:
            results[part.kind] = before
            continue
        heads = explain(sample, part.layers, (WEIGHT,), ordered=False, positions=True)[WEIGHT]
        results[part.kind] = FittedHeads.of(sample, heads)
    return results
