"""The control task: trees without any syntax, to measure how much a probe can memorize.

After Hewitt and Liang 2019, "Designing and Interpreting Probes with Control Tasks", section 2: each word type draws
once where its tokens point. A probe that can memorize such draws could memorize trees too.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

BEHAVIORS = ("self", "first", "last")


def behavior_of(word: str, *, seed: int = 0) -> str:
    """Return the behavior that a word type drew: `self`, `first` or `last`, equally likely; case-sensitive.

    Args:
        word: word type; equal words always draw the same behavior.
        seed: seed of the random draw.
    """
    digest = blake2b(f"{seed} {word}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return BEHAVIORS[int.from_bytes(digest, "little") % len(BEHAVIORS)]


def control_targets(words: Sequence[str], *, seed: int = 0) -> NDArray[np.int64]:
    """Return the index of the word that each word of a sentence points at in the control task, from 0, `[word]`.

    Args:
        words: words of the sentence.
        seed: seed of the random draw (`behavior_of`).
    """
    last = len(words) - 1
    targets = np.zeros(len(words), dtype=np.int64)
    for index, word in enumerate(words):
        drawn = behavior_of(word, seed=seed)
        targets[index] = index if drawn == "self" else last if drawn == "last" else 0
    return targets
