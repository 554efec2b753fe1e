"""The small JSON files of a model folder, read within bounds: their size, their depth, and that they are objects."""

import json
from pathlib import Path
from typing import Any

from headscope.errors import ModelError
from headscope.models.folder.shown import a_kind, shown
from headscope.storage.bounded_json import TooDeepError, TooLargeError, read_bounded

MOST_BYTES = 4 << 20
"""A configuration of 100,000 labels takes as much; real ones take kilobytes."""
MOST_DEPTH = 50


def read_object(path: Path, *, most: int = MOST_BYTES, again: str = "save the model again") -> dict[str, Any]:
    """Read a file that holds a JSON object.

    Args:
        path: the file.
        most: bytes that it may have.
        again: what the reader can do about a broken one.

    Raises:
        ModelError: it is too large, not JSON, nested too deeply, or holds something else.
    """
    too_deep = f"{shown(path)} is nested more than {MOST_DEPTH} deep; expected a plain object: {again}"
    try:
        value = read_bounded(path, most=most)
    except TooLargeError as error:
        raise ModelError(
            f"{shown(path)} has {error.size:,} bytes; expected at most {most:,}, and a model's own has thousands: "
            f"{again}"
        ) from None
    except TooDeepError as error:
        raise ModelError(too_deep) from error
    except ValueError as error:
        broken = isinstance(error, json.JSONDecodeError | UnicodeDecodeError)
        why = shown(error, limit=100) if broken else "a number has thousands of digits"
        raise ModelError(f"{shown(path)} is not JSON ({why}); {again}") from error
    if not isinstance(value, dict):
        raise ModelError(f"{shown(path)} holds {a_kind(value)}; expected an object in braces: {again}")
    if _depth_over(value, MOST_DEPTH):
        raise ModelError(too_deep)
    return value


def _depth_over(value: Any, most: int) -> bool:
    """Whether lists and objects lie in one another more than so deep; a level at a time, without recursion."""
    level = [value]
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True
