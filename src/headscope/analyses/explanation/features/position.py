"""Features of the key's position: its offset from the row, its sentence, and its place in the input."""

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.feature import SAME_AXIS, Feature, Floats, Group, Values
from headscope.analyses.explanation.row_context import RowContext

GROUPS = (
    Group("previous", "position", "the previous token"),
    Group("next", "position", "the next token"),
    Group("current", "position", "the token itself"),
    Group("distance", "position", "nearby tokens", named_features=1),
    Group("side", "position", "earlier tokens"),
    Group("sentence", "position", "its own sentence", named_features=1),
    Group("place", "position", "tokens by their place in the input", named_features=2),
)
OFFSETS = ("previous", "next", "current", "distance", "side", "place")
"""The groups that depend on positions alone, not on the tokens."""
_BINS = ((-3, -2), (2, 3), (-5, -4), (4, 5), (-8, -6), (6, 8), (-16, -9), (9, 16))
"""Offsets that share a coefficient; the logarithm of the distance models the rest."""


def _between(first: int, last: int) -> Values:
    return lambda rows: (rows.offset >= first) & (rows.offset <= last)


def _log_distance(side: int) -> Values:
    return lambda rows: np.log1p(np.maximum(side * rows.offset, 0))


def _sentences_apart(rows: RowContext) -> Floats:
    return np.abs(rows.sentences - rows.of_rows(rows.sentences))


def _same_sentence(rows: RowContext) -> NDArray[np.bool_]:
    return np.asarray(_sentences_apart(rows) == 0)


def _ends_sentence(rows: RowContext) -> NDArray[np.bool_]:
    """Return a mask of the last key of each row's sentence."""
    return np.asarray(_same_sentence(rows) & np.append(rows.sentences[1:] != rows.sentences[:-1], True))


def _begins_sentence(rows: RowContext) -> NDArray[np.bool_]:
    """Return a mask of the first key of each row's sentence."""
    return np.asarray(_same_sentence(rows) & np.append(True, rows.sentences[1:] != rows.sentences[:-1]))


def _log_place(rows: RowContext) -> Floats:
    return rows.of_text(np.log1p(np.arange(len(rows.keys))))


def _relative_place(rows: RowContext) -> Floats:
    return rows.of_text(np.arange(len(rows.keys)) / max(1, len(rows.keys) - 1))


def _at(name: str, sentence: str, first: int, last: int, group: str = "distance", opposite: str = "") -> Feature:
    return Feature(name, group, sentence, _between(first, last), opposite=opposite, needs=SAME_AXIS)


def _binned(first: int, last: int) -> Feature:
    side = "before" if last < 0 else "after"
    near, far = sorted((abs(first), abs(last)))
    return _at(f"{side}_{near}_{far}", f"tokens {near} to {far} {side} it", first, last)


FEATURES = (
    _at("previous", "the previous token", -1, -1, "previous"),
    _at("next", "the next token", 1, 1, "next"),
    _at("current", "the token itself", 0, 0, "current"),
    _at("before_2", "the token before the previous one", -2, -2),
    _at("after_2", "the token after the next one", 2, 2),
    *(_binned(first, last) for first, last in _BINS),
    Feature(
        "log_distance_back", "distance", "distant earlier tokens", _log_distance(-1),
        opposite="earlier tokens nearby", needs=SAME_AXIS,
    ),
    Feature(
        "log_distance_forward", "distance", "distant later tokens", _log_distance(1),
        opposite="later tokens nearby", needs=SAME_AXIS,
    ),
    _at("earlier", "earlier tokens", -(1 << 30), -1, "side", "the token itself and later tokens"),
    Feature(
        "same_sentence", "sentence", "its own sentence", _same_sentence, opposite="other sentences", needs=SAME_AXIS
    ),
    Feature(
        "sentences_apart", "sentence", "distant sentences", _sentences_apart,
        opposite="sentences nearby", needs=SAME_AXIS,
    ),
    Feature("ends_sentence", "sentence", "the end of its sentence", _ends_sentence, needs=SAME_AXIS),
    Feature("begins_sentence", "sentence", "the beginning of its sentence", _begins_sentence, needs=SAME_AXIS),
    Feature("log_place", "place", "late tokens", _log_place, opposite="early tokens"),
    Feature("relative_place", "place", "late tokens", _relative_place, opposite="early tokens"),
)  # fmt: skip
