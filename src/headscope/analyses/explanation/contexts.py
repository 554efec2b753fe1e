"""The context of the features of sampled rows: tokens with the frequencies of their sample, and annotation."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.annotation import annotation_of
from headscope.analyses.explanation.row_context import RowContext
from headscope.analyses.explanation.row_sample import SampledRows
from headscope.analyses.explanation.sample_design import ContextOf
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts


def contexts_of(samples: Sequence[SampledRows], vocabulary: VocabularyFacts) -> ContextOf:
    """Return what makes the context of features, with the frequencies of tokens in the sampled inputs.

    Args:
        samples: the rows.
        vocabulary: what is known of tokens without a text.
    """
    counts = np.bincount(np.concatenate([sample.segment.keys.ids for sample in samples]))
    counted = vocabulary.with_counts(counts)

    def context_of(sample: SampledRows, visible: NDArray[np.bool_]) -> RowContext:
        segment = sample.segment
        words = int(segment.keys.word_ids.max(initial=-1)) + 1
        origin = f"segment {sample.index + 1} of document {sample.document}"
        return RowContext(
            rows=sample.rows,
            visible=visible,
            queries=segment.queries,
            keys=segment.keys,
            vocabulary=counted,
            annotation=annotation_of(segment.fields, words, origin=origin),
        )

    return context_of
