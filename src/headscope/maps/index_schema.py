"""Types and bounds of the parts of an index of saved maps, so that no unexpected value is used.

An index may come from anywhere. A check takes a JSON value and its name, and returns the value, or raises ValueError
with the expected and the actual value.
"""

import re
from collections.abc import Callable
from typing import Any

from headscope.storage.bounded import within_depth
from headscope.visible import described

Check = Callable[[Any, str], Any]
MOST_DEPTH = 64
MOST_HEADS = 1 << 16  # heads of a kind over all layers; the largest models have about 16,000
MOST_WORDS = 1 << 20  # words of a segment whose words are not given: tables are as long as the largest word id
_LARGEST_ID = (1 << 31) - 1


def _checked(expected: str, is_right: Callable[[Any], bool]) -> Check:
    def check(value: Any, what: str) -> Any:
        if not is_right(value):
            raise ValueError(f"{what}: expected {expected}, found {described(value)}")
        return value

    return check


def _is_text(value: Any) -> bool:
    """Return True for a text that can be written as UTF-8, without half a character (a lone surrogate)."""
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)


def _is_name(value: Any) -> bool:
    """Return True for a name that messages may contain: one line, nothing invisible."""
    return _is_text(value) and value.isprintable() and len(value) <= 200


def _is_plain(value: Any) -> bool:
    return isinstance(value, dict) and within_depth(value, MOST_DEPTH)


def _matching(pattern: str) -> Callable[[Any], bool]:
    def matches(value: Any) -> bool:
        return isinstance(value, str) and re.fullmatch(pattern, value) is not None

    return matches


def _of_type(*types: type) -> Callable[[Any], bool]:
    def is_of_type(value: Any) -> bool:
        return type(value) in types

    return is_of_type


mapping = _checked("an object", _of_type(dict))
listed = _checked("a list", _of_type(list))
flag = _checked("true or false", _of_type(bool))
scalar = _checked("a text or a number", _of_type(str, int, float, bool, type(None)))
text = _checked("a text of whole characters", _is_text)
name_of = _checked("a text of up to 200 printable characters", _is_name)
# An index must not refer to files elsewhere.
shard_file = _checked("the name of a file in the folder", _matching("[A-Za-z0-9_][A-Za-z0-9_.-]{0,200}"))
hash_of = _checked("32 hex digits", _matching("[0-9a-f]{32}"))
plain = _checked(f"an object of at most {MOST_DEPTH} objects and lists in one another", _is_plain)


def or_null(check: Check) -> Check:
    """Return a check that accepts null, too."""

    def check_or_null(value: Any, what: str) -> Any:
        return None if value is None else check(value, what)

    return check_or_null


def one_of(*known: str) -> Check:
    """Return the check of one of a few texts."""
    return _checked(f"one of {', '.join(known)}", lambda value: isinstance(value, str) and value in known)


def whole(*, low: int = 0, high: int = _LARGEST_ID) -> Check:
    """Return the check of a whole number; true and 1.0 are not whole numbers."""
    expected = f"a whole number from {low:,} to {high:,}"
    return _checked(expected, lambda value: type(value) is int and low <= value <= high)


def wholes(*, low: int = 0, high: int = _LARGEST_ID) -> Check:
    """Return the check of a list of whole numbers, which may be long."""
    check = all_of(whole(low=low, high=high))

    def check_wholes(value: Any, what: str) -> Any:
        is_right = type(value) is list and set(map(type, value)) == {int} and min(value) >= low and max(value) <= high
        return value if is_right else check(value, what)

    return check_wholes


def all_of(check: Check) -> Check:
    """Return the check of a list whose items pass a check."""

    def check_all(value: Any, what: str) -> list[Any]:
        return [check(each, what) for each in listed(value, what)]

    return check_all


def record(**checks: Check) -> Check:
    """Return the check of an object that has exactly these parts; an absent part raises KeyError."""

    def check_record(value: Any, what: str) -> dict[str, Any]:
        parts = mapping(value, what)
        if more := [name for name in parts if name not in checks]:
            raise ValueError(f"{what}: expected {', '.join(checks)} alone, found {described(more[0])} too")
        return {name: check(parts[name], f"{what}, {name}") for name, check in checks.items()}

    return check_record
