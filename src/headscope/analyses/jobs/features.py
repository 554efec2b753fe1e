"""What of a row tells one job of a head from another: where its strongest key is, and what."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.active_rows import BEFORE
from headscope.encoding.vocabulary import KeyClass

RELATION = ("offset", "side", "same id", "after copy")
"""Where the key is as seen from the row."""
KEY = ("key punctuation", "key other punctuation")
"""What it is."""
FEATURES = (*RELATION, *KEY)
"""What rows are told apart by, in the order of arrays."""
CONTEXT = ("row punctuation", "row starts a word", "key starts a word")
"""What jobs are described by beside: what text is like where they are done makes no job."""


def features(rows: NDArray[Any], *, square: bool, same_ids: bool) -> NDArray[np.float64]:
    """Return the features of rows, `[row, FEATURES]`.

    `offset` is log2(1 + tokens between the two), `side` 1 for a key before the row, -1 for one after it; both are 0
    where rows and keys are other tokens. All others are 0 or 1.

    Args:
        rows: of `ACTIVE_ROW`.
        square: whether rows and keys are the same tokens.
        same_ids: whether equal ids are equal tokens.
    """
    found = np.zeros((len(rows), len(FEATURES)))
    if square:
        apart = rows["row"] - rows["key"]
        found[:, FEATURES.index("offset")] = np.log2(1.0 + np.abs(apart))
        found[:, FEATURES.index("side")] = np.sign(apart)
        if same_ids:
            same = (apart != 0) & (rows["key_id"] == rows["ids"][:, BEFORE])
            found[:, FEATURES.index("same id")] = same
            found[:, FEATURES.index("after copy")] = rows["after_copy"]
    kinds: Mapping[str, tuple[int, ...]] = {
        "key punctuation": (KeyClass.PUNCTUATION,),
        "key other punctuation": (KeyClass.OTHER_PUNCTUATION,),
    }
    for name, classes in kinds.items():
        found[:, FEATURES.index(name)] = np.isin(rows["key_class"], classes)
    return found


def context(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return what rows and keys are like as text, `[row, CONTEXT]`, each 0 or 1."""
    punctuation = np.isin(rows["row_class"], (KeyClass.PUNCTUATION, KeyClass.OTHER_PUNCTUATION))
    return np.stack([punctuation, rows["row_starts"], rows["key_starts"]], axis=1).astype(np.float64)
