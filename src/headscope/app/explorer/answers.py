"""Answers that are no success: a status and one sentence, as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping


class Refusal(Exception):
    """A request that cannot be met.

    Args:
        status: HTTP's.
        sentence: what was expected, what came, what to do.
        headers: to send with it.
    """

    def __init__(self, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.sentence = sentence
        self.headers = headers or {}


def error_body(sentence: str) -> bytes:
    """Return `{"error": sentence}` as ASCII JSON."""
    return json.dumps({"error": sentence}).encode("ascii")


def own_error(error: Exception) -> Refusal:
    """Return 500: what went wrong is nobody's fault but ours; only its kind is told."""
    name = type(error).__name__
    return Refusal(500, f"the explorer met an error of its own ({name}); the terminal it runs in says more")


def busy(sentence: str, *, seconds: int = 1) -> Refusal:
    """Return 503: the same request may be met later."""
    return Refusal(503, sentence, {"Retry-After": str(seconds)})
