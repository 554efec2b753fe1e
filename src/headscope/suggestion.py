"""The known name that a mistyped one most likely means."""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to an unknown one; None if none is near.

    The nearest is the beginning of a name, or a name with more after it; then the same letters in another order; then
    the match of `difflib`.
    """
    names = list(known)
    typed = name.lower()
    begun = [each for each in names if _one_begins(typed, each.lower())]
    if begun:
        return min(begun, key=lambda each: abs(len(each) - len(typed)))
    same_letters = [each for each in names if sorted(each.lower()) == sorted(typed)]
    return next(iter(same_letters or get_close_matches(name, names, n=1)), None)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean ...?` for the end of a message; empty if no name is near."""
    name_meant = nearest(name, known)
    return f"; did you mean {name_meant}?" if name_meant else ""


def _one_begins(typed: str, name: str) -> bool:
    shorter, longer = sorted((typed, name), key=len)
    return len(shorter) > 1 and longer.startswith(shorter)
