"""Features of the key's position: its offset from the row, its sentence, and its place in the input."""

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.features import Feature, Floats, Group, Values, pair_feature
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


def _log_distance(side: int) -> Values:
    return lambda rows: np.log1p(np.maximum(side * rows.offset, 0))


def _sentences_apart(rows: RowContext) -> Floats:
    return np.abs(rows.sentences - rows.of_rows(rows.sentences))


def _edge_of_sentence(*, last: bool) -> Values:
    """Return a function that marks the first or the last key of each row's sentence."""

    def values(rows: RowContext) -> NDArray[np.bool_]:
        changes = rows.sentences[1:] != rows.sentences[:-1]
        edges = np.append(changes, True) if last else np.append(True, changes)
        return np.asarray((_sentences_apart(rows) == 0) & edges)

    return values


def _at(name: str, sentence: str, first: int, last: int, group: str = "distance", opposite: str = "") -> Feature:
    return pair_feature(name, group, sentence, lambda rows: (rows.offset >= first) & (rows.offset <= last), opposite)


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
    pair_feature("log_distance_back", "distance", "distant earlier tokens", _log_distance(-1), "earlier tokens nearby"),
    pair_feature("log_distance_forward", "distance", "distant later tokens", _log_distance(1), "later tokens nearby"),
    _at("earlier", "earlier tokens", -(1 << 30), -1, "side", "the token itself and later tokens"),
    pair_feature(
        "same_sentence", "sentence", "its own sentence", lambda rows: _sentences_apart(rows) == 0, "other sentences"
    ),
    pair_feature("sentences_apart", "sentence", "distant sentences", _sentences_apart, "sentences nearby"),
    pair_feature("ends_sentence", "sentence", "the end of its sentence", _edge_of_sentence(last=True)),
    pair_feature("begins_sentence", "sentence", "the beginning of its sentence", _edge_of_sentence(last=False)),
    Feature(
        "log_place", "place", "late tokens", lambda rows: rows.of_text(np.log1p(np.arange(len(rows.keys)))),
        opposite="early tokens",
    ),
    Feature(
        "relative_place", "place", "late tokens",
        lambda rows: rows.of_text(np.arange(len(rows.keys)) / max(1, len(rows.keys) - 1)), opposite="early tokens",
    ),
)  # fmt: skip
