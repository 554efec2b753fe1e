"""HTML built from elements: the one helper that escapes, so that no text reaches a page unescaped."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any, TypeAlias

_VOID = {"br", "col", "hr", "img", "input", "link", "meta"}


class Html(str):
    """Text that is already markup. Made by `el`, `text` and `raw` only."""

    __slots__ = ()


Child: TypeAlias = Html | str | int | Iterable[Any] | None
"""What an element may hold: markup, text to be escaped, nothing, or any nesting of these."""


def text(value: object) -> Html:
    """Return a value as escaped text, fit for content and attributes; NUL, which HTML forbids, shows as `␀`."""
    return Html(html.escape(str(value), quote=True).replace("\x00", "␀"))


def raw(markup: str) -> Html:
    """Vouch for a string that is markup: only for output of the package's own code, never for data."""
    return Html(markup)


def el(tag: str, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """Return one element; strings among the children are escaped, `Html` is not.

    An attribute's trailing underscore goes (`class_`), other underscores become hyphens; None and False leave it out,
    True writes its bare name.
    """
    parts = [f"<{tag}"]
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        written = name.rstrip("_").replace("_", "-")
        parts.append(f" {written}" if value is True else f' {written}="{text(value)}"')
    parts.append(">")
    if tag in _VOID:
        return Html("".join(parts))
    parts.extend(_flat(children))
    parts.append(f"</{tag}>")
    return Html("".join(parts))


def _flat(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            yield child
        elif isinstance(child, str | int):
            yield text(child)
        else:
            yield from _flat(child)
