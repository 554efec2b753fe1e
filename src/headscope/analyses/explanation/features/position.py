"""Where the key is: right before the row, right behind it, so many tokens away, early or late in the input."""

from collections.abc import Callable

import numpy as np

from headscope.analyses.explanation.feature import SAME_AXIS, Feature, Floats, Group
from headscope.analyses.explanation.row_context import RowContext

GROUPS = (
    Group(name="previous", family="position", label="previous token", phrase="the previous token"),
    Group(name="next", family="position", label="next token", phrase="the next token"),
    Group(name="current", family="position", label="itself", phrase="the token itself"),
    Group(name="distance", family="position", label="distance", phrase="nearby tokens", by_feature=True),
    Group(name="side", family="position", label="side", phrase="earlier tokens"),
    Group(name="sentence", family="position", label="sentence", phrase="the row’s own sentence", by_feature=True),
    Group(
        name="place",
        family="position",
        label="place in the input",
        phrase="tokens by their place in the input",
        by_feature=True,
    ),
)
OFFSETS = ("previous", "next", "current", "distance", "side", "place")
"""The groups that say where the key is, whatever the tokens are."""
_BINS = ((-3, -2), (2, 3), (-5, -4), (4, 5), (-8, -6), (6, 8), (-16, -9), (9, 16))
"""Offsets that share a coefficient; the logarithm of the distance says the rest."""


def _between(first: int, last: int) -> Callable[[RowContext], Floats]:
    def compute(rows: RowContext) -> Floats:
        return np.asarray((rows.offset >= first) & (rows.offset <= last), dtype=np.float64)

    return compute


def _log_distance(side: int) -> Callable[[RowContext], Floats]:
    def compute(rows: RowContext) -> Floats:
        return np.asarray(np.log1p(np.maximum(side * rows.offset, 0)), dtype=np.float64)

    return compute


def _sentences_apart(rows: RowContext) -> Floats:
    return np.abs(rows.of_keys(rows.sentences) - rows.of_rows(rows.sentences))


def _same_sentence(rows: RowContext) -> Floats:
    return np.asarray(_sentences_apart(rows) == 0, dtype=np.float64)


def _ends_sentence(rows: RowContext) -> Floats:
    """Return which keys are the last of the row's sentence."""
    sentences = rows.sentences
    last = np.append(sentences[1:] != sentences[:-1], True)
    return _same_sentence(rows) * rows.of_keys(last)


def _begins_sentence(rows: RowContext) -> Floats:
    """Return which keys are the first of the row's sentence."""
    sentences = rows.sentences
    first = np.append(True, sentences[1:] != sentences[:-1])
    return _same_sentence(rows) * rows.of_keys(first)


def _log_place(rows: RowContext) -> Floats:
    return rows.of_keys(np.log1p(np.arange(len(rows.keys))))


def _relative_place(rows: RowContext) -> Floats:
    return rows.of_keys(np.arange(len(rows.keys)) / max(1, len(rows.keys) - 1))


def _at(name: str, label: str, sentence: str, first: int, last: int, group: str) -> Feature:
    compute = _between(first, last)
    return Feature(name=name, group=group, label=label, sentence=sentence, compute=compute, needs=SAME_AXIS)


def _binned(first: int, last: int) -> Feature:
    side = "before" if last < 0 else "after"
    near, far = sorted((abs(first), abs(last)))
    label = f"{near} to {far} {side}"
    sentence = f"tokens {near} to {far} {side} it"
    return _at(f"{side}_{near}_{far}", label, sentence, first, last, "distance")


FEATURES = (
    _at("previous", "previous token", "the previous token", -1, -1, "previous"),
    _at("next", "next token", "the next token", 1, 1, "next"),
    _at("current", "itself", "the token itself", 0, 0, "current"),
    _at("before_2", "2 before", "the token before the previous one", -2, -2, "distance"),
    _at("after_2", "2 after", "the token after the next one", 2, 2, "distance"),
    *(_binned(first, last) for first, last in _BINS),
    Feature(
        name="log_distance_back", group="distance", label="distance back, logarithm", sentence="distant earlier tokens",
        opposite="earlier tokens nearby", compute=_log_distance(-1), needs=SAME_AXIS,
    ),
    Feature(
        name="log_distance_forward", group="distance", label="distance forward, logarithm",
        sentence="distant later tokens", opposite="later tokens nearby", compute=_log_distance(1), needs=SAME_AXIS,
    ),
    Feature(
        name="earlier", group="side", label="earlier", sentence="earlier tokens",
        opposite="the token itself and later tokens", compute=_between(-(1 << 30), -1), needs=SAME_AXIS,
    ),
    Feature(
        name="same_sentence", group="sentence", label="same sentence", sentence="its own sentence",
        opposite="other sentences", compute=_same_sentence, needs=SAME_AXIS,
    ),
    Feature(
        name="sentences_apart", group="sentence", label="sentences apart", sentence="distant sentences",
        opposite="sentences nearby", compute=_sentences_apart, needs=SAME_AXIS,
    ),
    Feature(
        name="ends_sentence", group="sentence", label="end of the sentence", sentence="the end of its sentence",
        compute=_ends_sentence, needs=SAME_AXIS,
    ),
    Feature(
        name="begins_sentence", group="sentence", label="beginning of the sentence",
        sentence="the beginning of its sentence", compute=_begins_sentence, needs=SAME_AXIS,
    ),
    Feature(
        name="log_place", group="place", label="position, logarithm", sentence="late tokens", opposite="early tokens",
        compute=_log_place,
    ),
    Feature(
        name="relative_place", group="place", label="position, share of the input", sentence="late tokens",
        opposite="early tokens", compute=_relative_place,
    ),
)  # fmt: skip
