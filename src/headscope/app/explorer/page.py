"""The explorer's page, and the page for requests without the token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headscope.app.explorer.http_answers import Limits
from headscope.views.attention_page import ATTENTION_STYLE
from headscope.views.html_page import Page, assemble, policy_of
from headscope.views.markup import el

EXPLORER_STYLE = "explorer/explorer.css"
STYLES = ("core/base.css", "report/grid.css", ATTENTION_STYLE, "atlas/atlas.css", EXPLORER_STYLE)
_SCRIPTS_OFF = "The explorer is drawn by a script; switch JavaScript on to see it."
_CLOSED = "This page opens with the address that headscope explore printed: it holds a token, and this one does not."


@dataclass(frozen=True)
class Served:
    """An HTML page as a server sends it: its bytes, and its content security policy for the header."""

    body: bytes
    policy: str


def explorer_page(models: Sequence[str], *, example: str, study: Mapping[str, Any] | None, limits: Limits) -> Served:
    """Return the page: one HTML file that contacts only its own server.

    Args:
        models: names of the models, in order.
        example: text that is shown first.
        study: data blocks of the study's atlas, by id.
        limits: limits of the server, which the page's fields show.
    """
    data = {
        "models": list(models),
        "example": example,
        "study": study is not None,
        "limits": {"characters": limits.characters, "generate": limits.generate},
    }
    return _served(
        Page(
            title="headscope explorer",
            body=[el("main", id="app"), el("noscript", el("p", _SCRIPTS_OFF))],
            data={"explorer": data, **(study or {})},
            entry="explorer/explorer_page.js",
            styles=STYLES,
            connect=True,
        )
    )


def closed_door() -> Served:
    """Return the page for an address without the token.

    It contains nothing. A browser in which the explorer was opened before has stored the token, and opens the page.
    """
    return _served(
        Page(
            title="headscope explorer",
            body=[el("main", el("h1", "headscope explorer"), el("p", _CLOSED, id="closed"))],
            entry="explorer/explorer_door.js",
        )
    )


def _served(page: Page) -> Served:
    # Only a header can forbid other pages to show this one in a frame.
    return Served(assemble(page).encode("utf-8"), f"{policy_of(page)}; frame-ancestors 'none'")
