"""The sample of active rows of a treebank, with the parts of speech of rows and of their strongest keys."""

from typing import Any, ClassVar

import numpy as np
import torch

from headscope.analyses.jobs.active_rows import ActiveRowAccumulator
from headscope.analyses.jobs.row_facts import TAG_NUMBERS, TAGGED_ROW
from headscope.corpora.trees.universal_tags import universal_tag
from headscope.encoding.batching import Batch
from headscope.encoding.packing.tree_fields import tags_of_fields


class TaggedRowAccumulator(ActiveRowAccumulator):
    """Keeps active rows of inputs whose words have parts of speech (`tags` in their fields).

    All pieces of a word have its part of speech. Words whose tag is missing, or neither universal nor Penn's, have
    none.
    """

    row: ClassVar[np.dtype[Any]] = TAGGED_ROW

    def begin(self, batch: Batch) -> None:
        """Start a batch.

        Raises:
            InputError: tags of a segment are not one a word.
        """
        super().begin(batch)
        self._tags = word_tags(batch)


def word_tags(batch: Batch) -> torch.Tensor:
    """Return the number of each word's part of speech, `[batch, word]`; 0 for none, as in the last column.

    Raises:
        InputError: tags of a segment are not one a word.
    """
    words = [int(segment.word_ids.max(initial=-1)) + 1 for segment in batch.segments]
    numbers = np.zeros((len(words), max(words) + 1), dtype=np.int64)
    for line, segment, count in zip(numbers, batch.segments, words, strict=True):
        origin = f"segment {segment.index + 1} of document {segment.document}"
        tags = tags_of_fields(segment.fields, count, origin)
        line[: len(tags)] = [TAG_NUMBERS.get(universal_tag(tag), 0) for tag in tags]
    return torch.from_numpy(numbers)
