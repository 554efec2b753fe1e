"""Answers of the explorer to requests: data, errors, and the limits of what it accepts."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headscope.visible import shorten, visible

HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers of every answer; a page also has its content security policy."""
LONGEST = 300
_log = logging.getLogger("headscope.explorer")


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one server.

    Attributes:
        connections: number of open connections; a request on a further one is answered with 503.
        body: bytes of a request's body.
        characters: characters of each text.
        tokens: tokens that a model reads from one text or pair, including special and generated ones.
        weights: attention weights of one request; each takes one byte in the cache.
        generate: number of tokens that a model writes.
        waiting: number of requests that wait for the model; further ones are refused with 503.
        kept: bytes of cached attention, from which the page fetches layers.
    """

    connections: int = 64
    body: int = 64 * 1024
    characters: int = 20_000
    tokens: int = 2048
    weights: int = 1 << 26
    generate: int = 64
    waiting: int = 64
    kept: int = 512 * 1024 * 1024


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


def busy(sentence: str, *, seconds: int = 1) -> Refusal:
    """Return status 503: the same request may succeed later."""
    return Refusal(503, sentence, {"Retry-After": str(seconds)})


def internal_error(error: Exception) -> Refusal:
    """Log an error of the explorer itself in one line, and return status 500, which names only the error's class."""
    _log.error("headscope: the explorer met an error of its own: %s", describe_error(error))
    name = type(error).__name__
    return Refusal(500, f"the explorer met an error of its own ({name}); the terminal it runs in says more")


def describe_error(error: BaseException) -> str:
    """Return an error's class, message and place in one printable line."""
    frames = traceback.extract_tb(error.__traceback__)
    location = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    text = str(error)[: 2 * LONGEST]
    message = f": {shorten(visible(text), LONGEST)}" if text else ""
    return f"{type(error).__name__}{message}{location}"
