"""Passages that stand twice in an input: what can be foretold from the first time alone, so that induction forms."""

import numpy as np
from numpy.typing import NDArray

FEWEST = 16
"""Pieces of an input in which a passage is repeated, at least."""


def repeat_passage(
    ids: NDArray[np.int32],
    ordinary: NDArray[np.bool_],
    places: NDArray[np.int64],
    *,
    generator: np.random.Generator,
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Write a stretch of an input a second time over what stands further on.

    Its length is drawn between 1/8 and 1/2 of the input, and then its place and that of the copy. One time in two the
    stretch consists of random pieces: those can be foretold the second time only, and are not asked for the first.

    Args:
        ids: token ids, `[token]`.
        ordinary: whether an id is that of an ordinary piece, `[id]`; random pieces are drawn from these alike.
        places: where the input's own pieces stand, without special tokens at its ends; consecutive, `[piece]`.
        generator: of the draws.

    Returns:
        The ids, `[token]`, and whether a token can be asked for, `[token]`; as they came where `places` are too few.
    """
    asked = np.ones(len(ids), dtype=np.bool_)
    number = len(places)
    if number < FEWEST:
        return ids, asked
    length = int(generator.integers(number // 8, number // 2 + 1))
    start = int(generator.integers(number - 2 * length + 1))
    copy = start + length + int(generator.integers(number - 2 * length - start + 1))
    shown = ids.copy()
    first = places[start : start + length]
    if generator.random() < 0.5:
        pieces = np.flatnonzero(ordinary)
        shown[first] = pieces[generator.integers(len(pieces), size=length)]
        asked[first] = False
    shown[places[copy : copy + length]] = shown[first]
    return shown, asked
