"""Display of a model's name, and of content of its folder, in messages: one line, nothing invisible, not long."""

from typing import Any

from headscope.visible import printable, shorten


def shown(value: Any, *, limit: int = 200) -> str:
    """Return a value as text that fits into a sentence: control characters named, at most `limit` columns."""
    return shorten(printable(str(value)[: 4 * limit]), limit)


def a_kind(value: Any) -> str:
    """Return the kind of a JSON value: `a list`, `text`, `null` ..."""
    kinds = {dict: "an object", list: "a list", str: "text", bool: "true or false", float: "a fraction"}
    return "null" if value is None else kinds.get(type(value), "a number")


def short_name(name: str) -> str:
    """Return the last part of a local folder's path, or a hub name unchanged."""
    looks_local = name.startswith(("/", ".", "~")) or "\\" in name
    return name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1] if looks_local else name
