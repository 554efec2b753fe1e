"""A user's score, by which effects of heads are measured in addition to the loss: a function of a model's output."""

import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

from headscope.declarations.function_facts import function_facts
from headscope.errors import OptionError

Score = Callable[[Any, Any], Any]
"""A function of a model's output for a batch, and its inputs, that returns a number for each input, `[batch]`."""
_NAME = re.compile(r"[a-z][a-z0-9_]*")


def name_of_score(score: Score) -> str:
    """Return the name of a score in tables: the name of its function."""
    return str(getattr(score, "__name__", type(score).__name__))


def check_score(score: Any, *, taken: Sequence[str] = ()) -> Score:
    """Check that tables can name a score, and return it.

    Args:
        score: score as the user gave it.
        taken: names of other measures.

    Raises:
        OptionError: it is not a function, or its name is taken or has other characters than `a` to `z`, digits and `_`.
    """
    if not callable(score):
        raise OptionError(
            f"score is a {type(score).__name__}; expected a function of the model's output and its inputs that "
            "returns a number for each input"
        )
    name = name_of_score(score)
    if not _NAME.fullmatch(name):
        raise OptionError(
            f"score is named {name!r}; expected small letters, digits and _, as def logit_difference(outputs, inputs)"
        )
    if name in taken:
        raise OptionError(f"score is named {name!r}, as a measure of effects is; give the function another name")
    named: Score = score
    return named


def hash_of_score(score: Score | None) -> str | None:
    """Return a score's name and a hash of its function, for the signature; None without a score."""
    if score is None:
        return None
    digest = blake2b(repr(function_facts(score)).encode(), digest_size=8)
    return f"{name_of_score(score)} {digest.hexdigest()}"
