"""The definition of each behavior, key by key, and inputs of few distinct tokens."""

import numpy as np

from headscope.analyses.behaviors.catalog import BEHAVIORS, Delimiter
from headscope.encoding.segment import NO_WORD, Segment
from support.inputs import CLS, SEP

DELIMITERS = np.zeros(90, dtype=np.uint8)
DELIMITERS[10:16] = list(Delimiter)
"""`Delimiter` of each id: ids 11 to 15 are one of each class."""


def of_ids(ids, *, document="d", index=0):
    """Return a segment of these tokens."""
    ids = np.asarray(ids, dtype=np.int64)
    return Segment(
        document=document,
        index=index,
        ids=ids,
        token_types=np.zeros_like(ids),
        word_ids=np.full(len(ids), NO_WORD, dtype=np.int64),
    )


def few_words(number, *, seed=0, documents=None):
    """Return segments over few distinct ids, so that many tokens have copies, with special tokens among them.

    Each segment is a document of its own, or they are dealt out in turn to `documents` documents.
    """
    rng = np.random.default_rng(seed)
    made = []
    for place in range(number):
        ids = rng.integers(8, 18, size=int(rng.integers(1, 14)))
        ids[0] = CLS
        if len(ids) > 6:
            ids[3] = SEP
        if len(ids) > 1:
            ids[-1] = SEP
        made.append(of_ids(ids, document=f"doc{place % (documents or number)}", index=place))
    return made


def keys_of(name, ids, row, visible, *, special=(CLS, SEP)):
    """Return the keys of a behavior in one row, by its definition."""
    if name == "first":
        found = [0]
    elif name == "local":
        found = [key for key in range(len(ids)) if 1 <= abs(row - key) <= 3]
    elif name == "previous":
        found = [row - 1]
    elif name == "duplicate":
        found = [key for key in range(row) if ids[key] == ids[row] and ids[row] not in special]
    elif name == "induction":
        found = [key for key in range(1, row) if ids[key - 1] == ids[row] and ids[row] not in special]
    else:
        found = [k for k, i in enumerate(ids) if i < 90 and DELIMITERS[i] == BEHAVIORS[name].delimiter]
    return [key for key in found if key >= 0 and visible[row, key]]


def masks(kind, window=None):
    """Return a function that maps a length to the mask of the keys that each row sees."""

    def visible(length):
        at = np.arange(length)
        seen = np.ones((length, length), dtype=bool)
        if kind == "decoder":
            seen &= at[None] <= at[:, None]
        if window is not None:
            seen &= at[:, None] - at[None] < window
        return seen

    return visible
