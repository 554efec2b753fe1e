"""What of a row tells one job of a head from another: where its strongest key is, what that is, what is written."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.chance import SORTS
from headscope.analyses.jobs.row_facts import BEFORE, TAG_NUMBERS, TAGGED
from headscope.encoding.vocabulary import KeyClass

RELATION = ("offset", "side", "same id", "after copy")
"""Where the key is as seen from the row."""
KEY = ("key punctuation", "key other punctuation")
"""What it is."""
TAGS_OF_KEYS = tuple(f"key {tag}" for tag in TAGGED)
"""Which part of speech, where there are trees."""
DIRECTIONS = 8
WRITTEN = tuple(f"output {place}" for place in range(1, DIRECTIONS + 1))
"""What the row writes, along the directions in which that varies most."""
FEATURES = (*RELATION, *KEY, *TAGS_OF_KEYS, *WRITTEN)
"""What rows are told apart by, in the order of arrays."""
TAGS_OF_ROWS = tuple(f"row {tag}" for tag in TAGGED)
CONTEXT = ("row punctuation", "row starts a word", "key starts a word", *TAGS_OF_ROWS)
"""What jobs are described by beside: what text is like where they are done makes no job."""

ABOVE_CHANCE = 2.0
"""A sort of keys is one that a head looks for where so many times as many of its keys are of that sort as of all."""
SIDES_APART = 4.0
"""The middles of keys before and behind lie so many standard deviations apart, or the side is no matter."""
_ROUNDING = 1e-6
_QUARTILES_APART = 1.349  # those of a normal distribution, in standard deviations


def features(rows: NDArray[Any], *, square: bool, same_ids: bool) -> NDArray[np.float64]:
    """Return the features of rows, `[row, FEATURES]`.

    `offset` is log2(1 + tokens between the two), `side` 1 for a key before the row, -1 for one after it; both are 0
    where rows and keys are other tokens. `output` is from the mean, and 0 where it is not known. Others are 0 or 1.

    Args:
        rows: of `ACTIVE_ROW` or `TAGGED_ROW`, of one head.
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
    if is_tagged(rows):
        found[:, FEATURES.index(TAGS_OF_KEYS[0]) :][:, : len(TAGGED)] = _of_each(rows["key_tag"])
    written = along_principal_directions(rows["output"].astype(np.float64))
    found[:, FEATURES.index(WRITTEN[0]) :][:, : written.shape[1]] = written
    return found


def chosen(found: NDArray[np.float64], rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which features say what a head does rather than what there is to look at, `[FEATURES]`.

    A head whose keys were drawn from all would look at some commas, and back as well as ahead. A sort of keys counts
    where the head's are at least twice as often of that sort; the side where there is a gap between the keys on either.

    Args:
        found: `features` of the rows.
        rows: of `ACTIVE_ROW` or `TAGGED_ROW`, of one head.
    """
    kept = np.ones(len(FEATURES), dtype=bool)
    chances = dict(zip(SORTS, rows["even"].mean(0).tolist(), strict=True))
    if is_tagged(rows):
        chances |= zip(TAGS_OF_KEYS, rows["even_tags"].mean(0).tolist(), strict=True)
    for name, chance in chances.items():
        column = FEATURES.index(name)
        kept[column] = found[:, column].mean() >= ABOVE_CHANCE * chance
    offset, side = (found[:, FEATURES.index(name)] for name in ("offset", "side"))
    tokens = np.exp2(offset) - 1
    kept[FEATURES.index("side")] = _gap(tokens[side > 0], tokens[side < 0])
    return kept


def _gap(before: NDArray[np.float64], behind: NDArray[np.float64]) -> bool:
    """Return whether keys before rows and keys behind them, so many tokens away, have a gap between them.

    By medians and quartiles: a few keys far away close none.
    """
    if not len(before) or not len(behind):
        return True
    sides = [np.quantile(tokens, (0.25, 0.5, 0.75)) for tokens in (before, behind)]
    spread = float(np.mean([low_to_high[2] - low_to_high[0] for low_to_high in sides])) / _QUARTILES_APART
    return bool(sides[0][1] + sides[1][1] >= SIDES_APART * spread)


def along_principal_directions(
    vectors: NDArray[np.float64], *, most: int = DIRECTIONS
) -> NDArray[np.float64]:
    """Return rows of vectors along the directions in which they vary most, `[row, direction]`, from their mean.

    Directions that have less than a millionth of the variance are left out: they are rounding. So are all where a
    number is not known.

    Args:
        vectors: `[row, width]`.
        most: directions.
    """
    centered = vectors - vectors.mean(0)
    covariance = centered.T @ centered
    whole = float(np.trace(covariance))
    # Rows that write the same differ by rounding alone; what is not known is NaN, and not above.
    if not whole > _ROUNDING * float((vectors**2).sum()):
        return np.zeros((len(vectors), 0))
    variances, directions = np.linalg.eigh(covariance)
    order = np.argsort(-variances, kind="stable")[:most]
    return np.asarray(centered @ directions[:, order[variances[order] > _ROUNDING * whole]])


def context(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return what rows and keys are like as text, `[row, CONTEXT]`, each 0 or 1."""
    punctuation = np.isin(rows["row_class"], (KeyClass.PUNCTUATION, KeyClass.OTHER_PUNCTUATION))
    own = np.stack([punctuation, rows["row_starts"], rows["key_starts"]], axis=1)
    tags = _of_each(rows["row_tag"]) if is_tagged(rows) else np.zeros((len(rows), len(TAGGED)), dtype=bool)
    return np.concatenate([own, tags], axis=1).astype(np.float64)


def is_tagged(rows: NDArray[Any]) -> bool:
    """Return whether parts of speech are kept of rows."""
    return "key_tag" in (rows.dtype.names or ())


def _of_each(tags: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which rows are of each of `TAGGED`, `[row, TAGGED]`."""
    return np.asarray(tags[:, None] == np.array([TAG_NUMBERS[tag] for tag in TAGGED]))
