"""Explanations fitted again where an encoder's loss is taken: in inputs some of whose words are hidden.

A row of a hidden word looks elsewhere than a row of that word, and other rows see hidden words as keys. The groups that
explain a head on the text as it is written are kept, and their coefficients are fitted again, to rows of hidden words
and to rows of all else, each with the same halves of the documents.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.contexts import contexts_of
from headscope.analyses.explanation.feature import Feature
from headscope.analyses.explanation.fitted import EXPLAINED, FittedHeads
from headscope.analyses.explanation.refit import refit
from headscope.analyses.explanation.row_sample import RowSampleAccumulator
from headscope.analyses.explanation.sample_design import sample_design
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.encoding.questions.loss_questions import Ask
from headscope.encoding.segment import Segment, SegmentInfo
from headscope.models.anatomy import KindLayout

HIDDEN_INPUTS = 512
"""Number of inputs at most whose words are hidden to fit explanations again."""

FEWEST_ROWS = 100
"""With fewer rows in a half of the documents nothing is fitted again."""


class TokenRowsAccumulator(RowSampleAccumulator):
    """Keeps rows of one token, or of all others, with the smallest hashes; see `RowSampleAccumulator`.

    Args:
        layout: the kinds of attention and their sizes.
        token: id of the token.
        others: whether the rows are those of all other tokens.
        **sample: as `RowSampleAccumulator` takes it.
    """

    parameters: ClassVar[tuple[str, ...]] = (*RowSampleAccumulator.parameters, "token", "others")

    def __init__(self, layout: Sequence[KindLayout], *, token: int, others: bool, **sample: int) -> None:
        self.token, self.others = token, others
        super().__init__(layout, **sample)

    def positions(self, queries: SegmentInfo, item: int) -> NDArray[np.int64]:
        """Return which rows of an input of the batch may belong to the sample."""
        is_token = (queries.ids[item][queries.valid[item]] == self.token).cpu().numpy()
        return np.flatnonzero(is_token != self.others)


def hidden_inputs(segments: Sequence[Segment], ask: Ask) -> list[Segment]:
    """Return inputs with words hidden, as the loss has them."""
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
    """Return the groups that explain heads with coefficients fitted to some rows, by kind of attention.

    Args:
        rows: the sample.
        fitted: what the halves of the documents fitted to the text as it is written.
        features: the catalog, by name.
        vocabulary: what is known of tokens without a text.
        seed: of the order of documents that were not divided before.
    """
    results = {}
    for kind, samples in rows.compute().items():
        if not samples:
            continue
        before = fitted[kind]
        design = sample_design(
            samples, list(features.values()), contexts_of(samples, vocabulary), seed=seed, divided=before.documents
        )

        def groups(half: int, layer: int, head: int, before: FittedHeads = before) -> list[str]:
            # Hidden words are no keys in the text that selected the groups.
            return [*before.groups(features, half, layer, head), "hidden"]

        if np.bincount(design.documents % 2, minlength=2).min() < FEWEST_ROWS:
            results[kind] = before
            continue
        layers = before.coefficients[EXPLAINED].shape[1]
        results[kind] = FittedHeads.of(design, refit(design, layers, groups))
    return results
