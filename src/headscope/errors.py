"""Errors that tell a user what was expected, what was given and what to do, and the known name that a typo meant."""

from collections.abc import Iterable
from difflib import get_close_matches


class HeadscopeError(Exception):
    """A problem that the user can fix; the message says how.

    The command line prints the message without a traceback and exits with code 2.
    """


class InputError(HeadscopeError):
    """A file or text that cannot be read as requested."""


class ModelError(HeadscopeError):
    """A model or tokenizer that cannot be loaded or examined."""


class MemoryShortError(HeadscopeError):
    """Inputs for which there is not enough memory.

    Args:
        text: message that says what to do.
        inputs: number of inputs that were computed together.
    """

    def __init__(self, text: str, *, inputs: int) -> None:
        super().__init__(text)
        self.inputs = inputs


class AttentionError(HeadscopeError):
    """Attention that is not a distribution: NaN or infinite weights."""


class OutputError(HeadscopeError):
    """A path that results cannot be written to."""


class OptionError(HeadscopeError):
    """An option with an unknown value; the message lists the known ones."""


class ExtensionError(HeadscopeError):
    """An installed package that extends headscope and cannot be used."""


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
