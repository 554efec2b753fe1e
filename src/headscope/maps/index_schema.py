"""Types and bounds of each part of an index of saved maps, so that no unexpected value is used.

An index may come from anywhere. Every function here takes a JSON value and returns it, or raises ValueError with
the expected and the actual value.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from headscope.visible import shorten, titled

MOST_DEPTH = 64
MOST_HEADS = 1 << 16  # heads of a kind over all layers; the largest models have about 16,000
MOST_WORDS = 1 << 20  # words of a segment whose words are not given: tables are as long as the largest word id
_LARGEST_ID = (1 << 31) - 1
_SHOWN = 60
_SHARD_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}")
_HASH = re.compile(r"[0-9a-f]{32}")


def named(value: Any) -> str:
    """Describe a JSON value in a few printable words."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    if isinstance(value, int):
        return f"{value:,}" if abs(value) < 10**15 else "a huge number"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, str):
        return f"the text {shown(value)}"
    what = "a list" if isinstance(value, Sequence) else "an object"
    return what if value else f"{what} without content"


def shown(value: Any) -> str:
    """Quote a text so that a message can contain it; describe any other value."""
    return repr(shorten(titled(value), _SHOWN)) if isinstance(value, str) else named(value)


def record(value: Any, names: Sequence[str], what: str) -> dict[str, Any]:
    """Return an object that has exactly these parts.

    Raises:
        KeyError: a part is missing.
        ValueError: the value is not an object, or has an unknown part.
    """
    parts = mapping(value, what)
    if missing := [name for name in names if name not in parts]:
        raise KeyError(missing[0])
    if more := [name for name in parts if name not in names]:
        raise ValueError(f"{what}: expected {', '.join(names)} alone, found {named(more[0])} too")
    return parts


def mapping(value: Any, what: str) -> dict[str, Any]:
    """Return an object."""
    if not isinstance(value, dict):
        raise ValueError(f"{what}: expected an object, found {named(value)}")
    return value


def listed(value: Any, what: str) -> list[Any]:
    """Return a list."""
    if not isinstance(value, list):
        raise ValueError(f"{what}: expected a list, found {named(value)}")
    return value


def whole(value: Any, what: str, *, low: int = 0, high: int = _LARGEST_ID) -> int:
    """Return a whole number; true and 1.0 are not whole numbers."""
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{what}: expected a whole number from {low:,} to {high:,}, found {named(value)}")
    return value


def wholes(value: Any, what: str, *, low: int = 0, high: int = _LARGEST_ID) -> list[int]:
    """Return a list of whole numbers."""
    numbers = listed(value, what)
    if numbers and (set(map(type, numbers)) != {int} or min(numbers) < low or max(numbers) > high):
        for each in numbers:
            whole(each, what, low=low, high=high)
    return numbers


def text(value: Any, what: str) -> str:
    """Return a text that can be written as UTF-8."""
    if not isinstance(value, str):
        raise ValueError(f"{what}: expected a text, found {named(value)}")
    if not value.isascii():
        _check_characters(value, what)
    return value


def texts(value: Any, what: str) -> list[str]:
    """Return a list of texts that can be written as UTF-8."""
    items = listed(value, what)
    if items and set(map(type, items)) != {str}:
        for each in items:
            text(each, what)
    _check_characters("".join(items), what)
    return items


def _check_characters(value: str, what: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{what}: expected characters, found half of one (a lone surrogate)") from None


def name_of(value: Any, what: str) -> str:
    """Return a name that messages may contain: one line, nothing invisible."""
    name = text(value, what)
    if not name.isprintable() or len(name) > 200:
        raise ValueError(f"{what}: expected up to 200 printable characters, found {named(value)}")
    return name


def text_or_none(value: Any, what: str) -> str | None:
    """Return a text or None."""
    return None if value is None else text(value, what)


def flag(value: Any, what: str) -> bool:
    """Return True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{what}: expected true or false, found {named(value)}")
    return value


def one_of(value: Any, known: Sequence[str | None], what: str) -> str | None:
    """Return one of a few texts, or None if it is among them."""
    if value is None and None in known:
        return None
    if not isinstance(value, str) or value not in known:
        choices = ", ".join("null" if each is None else each for each in known)
        raise ValueError(f"{what}: expected one of {choices}, found {named(value)}")
    return value


def shard_file(value: Any) -> str:
    """Return the name of a file in the folder itself: an index must not refer to files elsewhere."""
    if not isinstance(value, str) or _SHARD_FILE.fullmatch(value) is None:
        raise ValueError(f"a shard at {shown(value)}")
    return value


def hash_of(value: Any, what: str) -> str:
    """Return a hash: 32 hex digits."""
    if not isinstance(value, str) or _HASH.fullmatch(value) is None:
        raise ValueError(f"{what}: expected 32 hex digits, found {named(value)}")
    return value


def plain(value: Any, what: str) -> dict[str, Any]:
    """Return an object of any content that is not nested too deeply to be written again."""
    parts = mapping(value, what)
    level: list[Any] = [parts]
    for _ in range(MOST_DEPTH):
        inner: list[Any] = []
        for each in level:
            values = each.values() if isinstance(each, Mapping) else each
            inner += [part for part in values if isinstance(part, dict | list)]
        if not inner:
            return parts
        level = inner
    raise ValueError(f"{what}: expected at most {MOST_DEPTH} objects and lists in one another, found more")
