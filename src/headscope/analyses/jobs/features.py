"""Features of a row that distinguish jobs of a head: where its strongest key is, what that is, what is written."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.jobs.row_facts import BEFORE, TAG_NUMBERS, TAGGED
from headscope.analyses.jobs.uniform_baseline import SORTS
from headscope.encoding.vocabulary import KeyClass

RELATION = ("offset", "side", "same id", "after copy")
"""Features of the key's position relative to the row."""
KEY = ("key period or comma", "key other punctuation")
"""Features of the key itself."""
TAGS_OF_KEYS = tuple(f"key {tag}" for tag in TAGGED)
"""The part of speech of the key, in a treebank."""
DIRECTIONS = 8
WRITTEN = tuple(f"output {number}" for number in range(1, DIRECTIONS + 1))
"""The row's output along its principal directions."""
FEATURES = (*RELATION, *KEY, *TAGS_OF_KEYS, *WRITTEN)
"""All features, in the order of arrays."""
TAGS_OF_ROWS = tuple(f"row {tag}" for tag in TAGGED)
CONTEXT = ("row punctuation", "row starts a word", "key starts a word", *TAGS_OF_ROWS)
"""Properties of the text that describe a job but do not define one."""

ABOVE_CHANCE = 2.0
"""A sort of keys counts where it is this many times as frequent among a head's keys as among all."""
SIDES_APART = 4.0
"""The side counts where the medians of keys before and behind lie at least this many standard deviations apart."""
_ROUNDING = 1e-6
_QUARTILES_APART = 1.349  # those of a normal distribution, in standard deviations


def features(rows: NDArray[Any], *, square: bool, same_ids: bool) -> NDArray[np.float64]:
    """Return the features of rows, `[row, FEATURES]`.

    `offset` is log2(1 + distance in tokens), `side` 1 for a key before the row, -1 for one after it; both are 0 where
    rows and keys are different tokens. `output` is centered, and 0 where it is unknown. The others are 0 or 1.

    Args:
        rows: of `ACTIVE_ROW` or `TAGGED_ROW`, of one head.
        square: whether rows and keys are the same tokens.
        same_ids: whether equal ids are equal tokens.
    """
    values = np.zeros((len(rows), len(FEATURES)))
    if square:
        apart = rows["row"] - rows["key"]
        values[:, FEATURES.index("offset")] = np.log2(1.0 + np.abs(apart))
        values[:, FEATURES.index("side")] = np.sign(apart)
        if same_ids:
            same = (apart != 0) & (rows["key_id"] == rows["ids"][:, BEFORE])
            values[:, FEATURES.index("same id")] = same
            values[:, FEATURES.index("after copy")] = rows["after_copy"]
    for name, key_class in zip(KEY, (KeyClass.PERIOD_COMMA, KeyClass.OTHER_PUNCTUATION), strict=True):
        values[:, FEATURES.index(name)] = rows["key_class"] == key_class
    if is_tagged(rows):
        values[:, FEATURES.index(TAGS_OF_KEYS[0]) :][:, : len(TAGGED)] = _one_hot_tags(rows["key_tag"])
    outputs = along_principal_directions(rows["output"].astype(np.float64))
    values[:, FEATURES.index(WRITTEN[0]) :][:, : outputs.shape[1]] = outputs
    return values


def informative_features(values: NDArray[np.float64], rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which features describe the head rather than the text, `[FEATURES]`.

    A head with uniform attention would look at some commas, and back as well as ahead. A sort of keys is informative
    where it is at least twice as frequent as under uniform attention; the side is where there is a gap between the
    keys on either side.

    Args:
        values: `features` of the rows.
        rows: of `ACTIVE_ROW` or `TAGGED_ROW`, of one head.
    """
    informative = np.ones(len(FEATURES), dtype=bool)
    chances = dict(zip(SORTS, rows["uniform"].mean(0).tolist(), strict=True))
    if is_tagged(rows):
        chances |= zip(TAGS_OF_KEYS, rows["uniform_tags"].mean(0).tolist(), strict=True)
    for name, chance in chances.items():
        column = FEATURES.index(name)
        informative[column] = values[:, column].mean() >= ABOVE_CHANCE * chance
    offset, side = (values[:, FEATURES.index(name)] for name in ("offset", "side"))
    tokens = np.exp2(offset) - 1
    informative[FEATURES.index("side")] = _gap(tokens[side > 0], tokens[side < 0])
    return informative


def _gap(before: NDArray[np.float64], behind: NDArray[np.float64]) -> bool:
    """Return whether there is a gap between keys before rows and keys behind them, given their distances in tokens.

    Medians and quartiles decide, so that a few distant keys do not close the gap.
    """
    if not len(before) or not len(behind):
        return True
    sides = [np.quantile(tokens, (0.25, 0.5, 0.75)) for tokens in (before, behind)]
    spread = float(np.mean([low_to_high[2] - low_to_high[0] for low_to_high in sides])) / _QUARTILES_APART
    return bool(sides[0][1] + sides[1][1] >= SIDES_APART * spread)


def along_principal_directions(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the principal components of vectors, `[row, direction]`.

    Directions with less than a millionth of the variance are left out, because they are rounding. All are left out
    where a number is unknown.

    Args:
        vectors: `[row, width]`.
    """
    centered = vectors - vectors.mean(0)
    covariance = centered.T @ centered
    whole = float(np.trace(covariance))
    # Equal outputs differ by rounding alone. An unknown one is NaN, for which the comparison is false.
    if not whole > _ROUNDING * float((vectors**2).sum()):
        return np.zeros((len(vectors), 0))
    variances, directions = np.linalg.eigh(covariance)
    order = np.argsort(-variances, kind="stable")[:DIRECTIONS]
    return np.asarray(centered @ directions[:, order[variances[order] > _ROUNDING * whole]])


def context(rows: NDArray[Any]) -> NDArray[np.float64]:
    """Return the properties of the text of rows and keys, `[row, CONTEXT]`, each 0 or 1."""
    punctuation = np.isin(rows["row_class"], (KeyClass.PERIOD_COMMA, KeyClass.OTHER_PUNCTUATION))
    shape = np.stack([punctuation, rows["row_starts"], rows["key_starts"]], axis=1)
    tags = _one_hot_tags(rows["row_tag"]) if is_tagged(rows) else np.zeros((len(rows), len(TAGGED)), dtype=bool)
    return np.concatenate([shape, tags], axis=1).astype(np.float64)


def is_tagged(rows: NDArray[Any]) -> bool:
    """Return whether rows have parts of speech."""
    return "key_tag" in (rows.dtype.names or ())


def _one_hot_tags(tags: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return the tags of rows in one-hot encoding, `[row, TAGGED]`."""
    return np.asarray(tags[:, None] == np.array([TAG_NUMBERS[tag] for tag in TAGGED]))
