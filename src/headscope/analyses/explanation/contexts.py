"""The context from which features of sampled rows are computed: tokens, their frequencies, and annotation."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.annotation import annotation_of
from headscope.analyses.explanation.row_context import RowContext
from headscope.analyses.explanation.row_sample import SampledRows
from headscope.analyses.explanation.sample import ContextOf
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts


def token_counts(samples: Sequence[SampledRows]) -> NDArray[np.int64]:
    """Count the occurrences of each token id in the sampled inputs, `[id]`."""
    return np.bincount(np.concatenate([sample.segment.keys.ids for sample in samples]))


def contexts_of(vocabulary: VocabularyFacts) -> ContextOf:
    """Return a function that makes the feature context for the sampled rows of an input.

    Args:
        vocabulary: vocabulary facts, with the counts of the sampled inputs.
    """

    def context_of(sample: SampledRows, visible: NDArray[np.bool_]) -> RowContext:
        segment = sample.segment
        words = int(segment.keys.word_ids.max(initial=-1)) + 1
        origin = f"segment {sample.index + 1} of document {sample.document}"
        return RowContext(
            rows=sample.rows,
            visible=visible,
            queries=segment.queries,
            keys=segment.keys,
            vocabulary=vocabulary,
            annotation=annotation_of(segment.fields, words, origin=origin),
        )

    return context_of
