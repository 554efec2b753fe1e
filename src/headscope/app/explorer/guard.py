"""The guard of the explorer: a middleware that answers only requests with the token, from the explorer's page."""

from __future__ import annotations

from secrets import compare_digest

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from headscope.app.explorer.page import Served

TOKEN_HEADER = "X-Headscope-Token"
_NO_TOKEN = f"expected the explorer's token in the header {TOKEN_HEADER}; it is in the address that was printed"
_OTHER_SITE = "expected a request from the explorer's own page, got one from another site"


class Guard:
    """Checks the token and the origin of every request.

    Args:
        app: app that answers the accepted requests.
        token: token in the query of the page's address, and in a header of every other request.
        closed: page for an address without the token.
    """

    def __init__(self, app: ASGIApp, *, token: str, closed: Served) -> None:
        self.app = app
        self.token = token
        self.closed = closed

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
            answer = page_response(self.closed, 403) if page else JSONResponse({"error": _NO_TOKEN}, 403)
        elif origin is not None and origin.lower() != f"http://{request.headers.get('host', '')}".lower():
            answer = JSONResponse({"error": _OTHER_SITE}, 403)
        await answer(scope, receive, send)


def page_response(page: Served, status: int = 200) -> Response:
    """Return a page with its content security policy."""
    return Response(page.body, status, media_type="text/html", headers={"Content-Security-Policy": page.policy})
