"""Repetitions within an input, which make later tokens predictable from earlier ones: induction heads form on them."""

import numpy as np
from numpy.typing import NDArray

FEWEST = 16
"""Smallest number of pieces of an input in which something is repeated."""

_SHORTEST, _LONGEST = 3, 16
_EACH = 16
"""Smallest number of pieces of an input per phrase."""

Shown = tuple[NDArray[np.int32], NDArray[np.bool_]]
"""The ids, `[token]`, and True for tokens that can be predicted, `[token]`."""


def repeat_something(
    ids: NDArray[np.int32], ordinary: NDArray[np.bool_], places: NDArray[np.int64], *, generator: np.random.Generator
) -> Shown:
    """Repeat a passage of an input, or, with probability 1/2, fill it with random recurring phrases.

    Args:
        ids: token ids, `[token]`.
        ordinary: True for ids of ordinary pieces, `[id]`; random pieces are drawn uniformly from these.
        places: positions of the input's own pieces, without special tokens at its ends; consecutive, `[piece]`.
        generator: generator of the random draws.

    Returns:
        The ids and a mask of predictable tokens; the ids are unchanged if there are fewer than `FEWEST` places.
    """
    if len(places) < FEWEST:
        return ids, np.ones(len(ids), dtype=np.bool_)
    if generator.random() < 0.5:
        return repeat_passage(ids, places, generator=generator)
    return recurring_phrases(ids, np.flatnonzero(ordinary), places, generator=generator)


def repeat_passage(ids: NDArray[np.int32], places: NDArray[np.int64], *, generator: np.random.Generator) -> Shown:
    """Copy a stretch of an input over a later part of it.

    Its length is drawn between 1/8 and 1/2 of the input, and then its position and that of the copy.
    """
    number = len(places)
    length = int(generator.integers(number // 8, number // 2 + 1))
    start = int(generator.integers(number - 2 * length + 1))
    copy = start + length + int(generator.integers(number - 2 * length - start + 1))
    shown = ids.copy()
    shown[places[copy : copy + length]] = ids[places[start : start + length]]
    return shown, np.ones(len(ids), dtype=np.bool_)


def recurring_phrases(
    ids: NDArray[np.int32], pieces: NDArray[np.int64], places: NDArray[np.int64], *, generator: np.random.Generator
) -> Shown:
    """Fill an input with phrases of 3 to 16 random pieces that follow one another in random order.

    The next piece inside a phrase is predictable only from the phrase's first occurrence. If one long stretch were
    repeated in a fixed order, predicting the piece that has not come for longest would do as well, and no induction
    head would form. All other tokens of the input are marked as not predictable.
    """
    most = max(2, len(places) // _EACH)
    lengths = generator.integers(_SHORTEST, _LONGEST + 1, size=int(generator.integers(2, most + 1)))
    phrases = [pieces[generator.integers(len(pieces), size=length)] for length in lengths]
    text: list[NDArray[np.int64]] = []
    known: list[NDArray[np.bool_]] = []
    drawn_before: set[int] = set()
    room = len(places)
    while room > 0:
        drawn = int(generator.integers(len(phrases)))
        text.append(phrases[drawn])
        known.append((np.arange(len(phrases[drawn])) > 0) & (drawn in drawn_before))
        drawn_before.add(drawn)
        room -= len(phrases[drawn])
    shown, may_be_asked = ids.copy(), np.zeros(len(ids), dtype=np.bool_)
    shown[places] = np.concatenate(text)[: len(places)]
    may_be_asked[places] = np.concatenate(known)[: len(places)]
    return shown, may_be_asked
