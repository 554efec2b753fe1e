"""One self-contained HTML file: styles, data and scripts inside, and a policy that forbids network access."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headscope.palette import palette
from headscope.views.bundle import script, style
from headscope.views.markup import Html, el, json_script, raw, text

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
