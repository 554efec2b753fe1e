"""What stands more than once in an input, so that it can be foretold from before: it is what induction forms on."""

import numpy as np
from numpy.typing import NDArray

FEWEST = 16
"""Pieces of an input in which anything is repeated, at least."""

_SHORTEST, _LONGEST = 3, 16
_EACH = 16
"""Pieces of an input for each of its phrases, at least."""

Shown = tuple[NDArray[np.int32], NDArray[np.bool_]]
"""The ids, `[token]`, and whether a token can be asked for, `[token]`."""


def repeat_something(
    ids: NDArray[np.int32], ordinary: NDArray[np.bool_], places: NDArray[np.int64], *, generator: np.random.Generator
) -> Shown:
    """Repeat a passage of an input, or, one time in two, fill it with random phrases that come again and again.

    Args:
        ids: token ids, `[token]`.
        ordinary: whether an id is that of an ordinary piece, `[id]`; random pieces are drawn from these alike.
        places: where the input's own pieces stand, without special tokens at its ends; consecutive, `[piece]`.
        generator: of the draws.

    Returns:
        The ids and what can be asked for; as they came where `places` are too few.
    """
    if len(places) < FEWEST:
        return ids, np.ones(len(ids), dtype=np.bool_)
    if generator.random() < 0.5:
        return repeat_passage(ids, places, generator=generator)
    return recurring_phrases(ids, np.flatnonzero(ordinary), places, generator=generator)


def repeat_passage(ids: NDArray[np.int32], places: NDArray[np.int64], *, generator: np.random.Generator) -> Shown:
    """Write a stretch of an input a second time over what stands further on.

    Its length is drawn between 1/8 and 1/2 of the input, and then its place and that of the copy.
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

    What comes next inside a phrase is known from its first time, and from nothing else: were one long stretch repeated
    in a fixed order, counting which piece has not come for longest would do as well, and no induction head would form.
    Nothing else of the input can be asked for.
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
