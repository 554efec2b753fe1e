"""The explorer's page, the page for requests without the token, and the check of token and origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from secrets import compare_digest
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headscope.app.explorer.request import Limits
from headscope.views.attention_page import ATTENTION_STYLE
from headscope.views.markup import Page, assemble, el, policy_of

EXPLORER_STYLE = "explorer/explorer.css"
STYLES = ("core/base.css", "report/grid.css", ATTENTION_STYLE, "atlas/atlas.css", EXPLORER_STYLE)
_SCRIPTS_OFF = "The explorer is drawn by a script; switch JavaScript on to see it."
_CLOSED = "This page opens with the address that headscope explore printed: it holds a token, and this one does not."


def explorer_page(
    models: Sequence[str], *, example: str, study: Mapping[str, Any] | None, limits: Limits
) -> HTMLResponse:
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
    return _response(
        Page(
            title="headscope explorer",
            body=[el("main", id="app"), el("noscript", el("p", _SCRIPTS_OFF))],
            data={"explorer": data, **(study or {})},
            entry="explorer/explorer_page.js",
            styles=STYLES,
            connect=True,
        )
    )


def closed_door() -> HTMLResponse:
    """Return the page for an address without the token.

    It contains nothing. A browser in which the explorer was opened before has stored the token, and opens the page.
    """
    return _response(
        Page(
            title="headscope explorer",
            body=[el("main", el("h1", "headscope explorer"), el("p", _CLOSED, id="closed"))],
            entry="explorer/explorer_door.js",
        ),
        403,
    )


def _response(page: Page, status: int = 200) -> HTMLResponse:
    # Only a header can forbid other pages to show this one in a frame.
    policy = f"{policy_of(page)}; frame-ancestors 'none'"
    return HTMLResponse(assemble(page), status, headers={"Content-Security-Policy": policy})


TOKEN_HEADER = "X-Headscope-Token"
_NO_TOKEN = f"expected the explorer's token in the header {TOKEN_HEADER}; it is in the address that was printed"
_OTHER_SITE = "expected a request from the explorer's own page, got one from another site"


class AccessCheck:
    """Checks the token and the origin of every request.

    Args:
        app: app that answers the accepted requests.
        token: token in the query of the page's address, and in a header of every other request.
        closed: page for an address without the token.
    """

    def __init__(self, app: ASGIApp, *, token: str, closed: Response) -> None:
        self.app, self.token, self.closed = app, token, closed

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope)
        page = scope["path"] == "/"
        token = request.headers.get(TOKEN_HEADER)
        if token is None and page:
            token = request.query_params.get("token")
        origin = request.headers.get("origin")
        answer: ASGIApp = self.app
        if not compare_digest((token or "").encode(), self.token.encode()):
            answer = self.closed if page else JSONResponse({"error": _NO_TOKEN}, 403)
        elif origin is not None and origin.lower() != f"http://{request.headers.get('host', '')}".lower():
            answer = JSONResponse({"error": _OTHER_SITE}, 403)
        await answer(scope, receive, send)
