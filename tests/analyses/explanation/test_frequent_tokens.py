"""The tokens with a column of their own: the most frequent ones of the sample."""

from types import SimpleNamespace

import numpy as np

from headscope.analyses.explanation.row_context import RowContext
from headscope.analyses.explanation.sample import FEWEST_OCCURRENCES, MOST_TOKENS, _frequent
from headscope.encoding.vocabulary import KeyClass


class Keys(RowContext):
    """A context that knows the ids and classes of its keys alone."""

    def __init__(self, ids, classes):
        object.__setattr__(self, "keys", SimpleNamespace(ids=ids, classes=classes))


def test_the_most_frequent_tokens_have_columns_and_separators_and_rare_ones_have_not():
    numbers = np.arange(MOST_TOKENS + 10)
    occurrences = FEWEST_OCCURRENCES - 2 + numbers  # token 0 and token 1 are too rare, the last is the most frequent
    ids = np.repeat(numbers, occurrences)
    classes = np.where(ids == numbers[-1], int(KeyClass.SEP), int(KeyClass.OTHER))
    halves = [Keys(ids[part::2], classes[part::2]) for part in (0, 1)]
    assert _frequent(halves).tolist() == numbers[-1 - MOST_TOKENS : -1].tolist()
    few = Keys(ids[ids < 5], classes[ids < 5])
    assert _frequent([few]).tolist() == [2, 3, 4]
