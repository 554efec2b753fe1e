"""Error answers, a status and one sentence as JSON, and the headers of every answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus

NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
DRESS = {
    "content-security-policy": NOTHING,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
"""Default headers of every answer."""


class Refusal(Exception):
    """An error answer to a request.

    Args:
        status: HTTP status.
        sentence: message with the expectation, the given value and the remedy.
        headers: headers to send with it.
    """

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = headers or {}


def error_body(sentence: str) -> bytes:
    """Return `{"error": sentence}` as ASCII JSON."""
    return json.dumps({"error": sentence}).encode("ascii")


def last_answer(refusal: Refusal) -> bytes:
    """Return a complete answer as bytes for the wire, after which the connection is closed."""
    body = error_body(refusal.sentence)
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "connection": "close",
        **DRESS,
        **refusal.headers,
    }
    first = f"HTTP/1.1 {refusal.status} {HTTPStatus(refusal.status).phrase}"
    lines = [first, *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body


def internal_error(error: Exception) -> Refusal:
    """Return status 500 for an error of the explorer itself; the answer names only the class of the error."""
    name = type(error).__name__
    return Refusal(500, f"the explorer met an error of its own ({name}); the terminal it runs in says more")


def busy(sentence: str, *, seconds: int = 1) -> Refusal:
    """Return status 503: the same request may succeed later."""
    return Refusal(503, sentence, {"Retry-After": str(seconds)})
