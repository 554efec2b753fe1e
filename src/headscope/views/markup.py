"""HTML built from elements with one escaping helper, and a page as one self-contained file without network access."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from markupsafe import Markup, escape

from headscope.palette import palette
from headscope.views.bundle import script, style

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


_GENERATOR = '<meta name="generator" content="headscope">'
_HEAD_BYTES = 4096
"""Number of bytes at the start of a page that contain everything before its title."""


@dataclass(frozen=True)
class Page:
    """The contents of a page: its title, its body, its data blocks by id, its entry script and its style sheets.

    `scheme` is `light` or `dark` for a page that ignores the reader's system setting. `connect` is True if its script
    may send requests to the server of the page.
    """

    title: str
    body: Sequence[Html]
    data: Mapping[str, Any] = field(default_factory=dict)
    entry: str | None = None
    styles: Sequence[str] = ("core/base.css",)
    scheme: str | None = None
    connect: bool = False


def assemble(page: Page) -> str:
    """Return the page as one HTML file.

    The content security policy forbids it to load anything, and lets it run only its own script, by hash; data blocks
    are inert.
    """
    code = script(page.entry) if page.entry else ""
    head = [
        raw('<meta charset="utf-8">'),
        el("meta", http_equiv="Content-Security-Policy", content=policy_of(page)),
        el("meta", name="viewport", content="width=device-width, initial-scale=1"),
        el("meta", name="color-scheme", content=page.scheme or "light dark"),
        el("meta", name="referrer", content="no-referrer"),
        raw(_GENERATOR),
        raw(f"<title>{text(page.title)}</title>"),
        raw(f"<style>\n{style(*page.styles, scheme=page.scheme)}\n</style>"),
    ]
    data = [json_script(name, value) for name, value in page.data.items()]
    tail = [raw(f'<script type="module">{code}</script>')] if code else []
    return "".join(
        [
            "<!doctype html>\n",
            '<html lang="en">\n<head>\n',
            "\n".join(head),
            "\n</head>\n<body>\n",
            shapes(),
            *page.body,
            "\n",
            "\n".join([*data, *tail]),
            "\n</body>\n</html>\n",
        ]
    )


def is_page(path: Path) -> bool:
    """Return True if a file is a page written by headscope."""
    try:
        with path.open("rb") as file:
            return _GENERATOR.encode("ascii") in file.read(_HEAD_BYTES)
    except OSError:
        return False


def policy_of(page: Page) -> str:
    """Return the page's content security policy: no sources at all, and its own script by hash."""
    code = script(page.entry) if page.entry else ""
    allowed = f"script-src '{_hash(code)}'" if code else "script-src 'none'"
    connect = " connect-src 'self';" if page.connect else ""
    nothing_else = "img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; style-src 'unsafe-inline'; {allowed};{connect} {nothing_else}"


def shapes() -> Html:
    """Return the role shapes as SVG symbols, hidden, for `<use href="#shape-previous">`."""
    symbols = [
        el("symbol", el("path", d=role.shape), id=f"shape-{name}", viewBox="0 0 10 10")
        for name, role in palette().roles.items()
    ]
    return el("svg", symbols, class_="shapes", aria_hidden="true", width=0, height=0)


def _hash(code: str) -> str:
    digest = hashlib.sha256(code.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
