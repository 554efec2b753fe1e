"""HTML built from elements, with a single escaping helper, so that no text reaches a page unescaped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeAlias

from markupsafe import Markup, escape

_VOID = {"br", "col", "hr", "img", "input", "link", "meta"}


class Html(Markup):
    """Text that is already markup: strings that are added or formatted into it are escaped.

    Created only by `el`, `text` and `raw`.
    """

    __slots__ = ()

    @classmethod
    def escape(cls, s: Any, /) -> Html:
        """Return markup unchanged, and escape anything else by `text`; markupsafe calls this for inserted values."""
        return Html(s) if hasattr(s, "__html__") else text(s)


Child: TypeAlias = Html | str | int | Iterable[Any] | None
"""Contents of an element: markup, text to be escaped, nothing, or any nesting of these."""


def text(value: object) -> Html:
    """Return a value as escaped text, for content and attributes; NUL, which HTML forbids, is shown as `␀`."""
    # str: an attribute's value is text even if it is markup. Quotes keep the entity names used in earlier pages.
    written = str(escape(str(value)))
    return Html(written.replace("&#34;", "&quot;").replace("&#39;", "&#x27;").replace("\x00", "␀"))


def raw(markup: str) -> Html:
    """Mark a string as markup: only for output of the package's own code, never for data."""
    return Html(markup)


def el(tag: str, *children: Child, **attributes: str | int | float | bool | None) -> Html:
    """Return one element; strings among the children are escaped, `Html` is not.

    A trailing underscore of an attribute's name is removed (`class_`), other underscores become hyphens; None and False
    omit the attribute, True writes its bare name.
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


_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def json_text(value: Any) -> str:
    """Return JSON in which `<`, `>`, `&`, U+2028 and U+2029 are escaped.

    Raises:
        ValueError: a number is NaN or infinite; pass None for null.
    """
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escaped in _ESCAPES.items():
        written = written.replace(character, escaped)
    # A lone surrogate cannot be encoded in UTF-8, but as a JSON escape.
    return written.encode("utf-8", "backslashreplace").decode("utf-8")


def json_script(identifier: str, value: Any) -> Html:
    """Return `<script type="application/json" id=...>` with `value`; browsers do not execute it."""
    return raw(f'<script type="application/json" id="{text(identifier)}">{json_text(value)}</script>')
