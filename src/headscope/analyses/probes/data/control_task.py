"""The control task: trees without any syntax, so that a probe's own cunning can be measured.

After Hewitt and Liang 2019, "Designing and Interpreting Probes with Control Tasks", section 2: each word type draws,
once, where its dependents point. A probe that learns such draws by heart could learn trees by heart too.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

BEHAVIORS = ("self", "first", "last")


def behavior_of(word: str, *, seed: int = 0) -> str:
    """Return what a word type drew: `self`, `first` or `last`, each as likely; letter case counts.

    Args:
        word: the type; equal words always draw the same.
        seed: of the draw.
    """
    digest = blake2b(f"{seed} {word}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return BEHAVIORS[int.from_bytes(digest, "little") % len(BEHAVIORS)]


def control_targets(words: Sequence[str], *, seed: int = 0) -> NDArray[np.int64]:
    """Return the word that each word of a sentence points at in the control task, from 0, `[word]`.

    Args:
        words: the sentence.
        seed: of the draw (`behavior_of`).
    """
    last = len(words) - 1
    targets = np.zeros(len(words), dtype=np.int64)
    for index, word in enumerate(words):
        drawn = behavior_of(word, seed=seed)
        targets[index] = index if drawn == "self" else last if drawn == "last" else 0
    return targets
