"""Requests of the explorer's page, parsed from any bytes, with the limits of a server and the error answers."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

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


_TEXTS = ("text", "text_b", "decoder_text")
_KNOWN = ("model", *_TEXTS, "generate")
_LONGEST_NAME = 1000
_LONGEST_SAID = 60


@dataclass(frozen=True, kw_only=True)
class LookRequest:
    """One text to read with one model.

    Attributes:
        model: name of a model that the server was started with.
        text: text to read; the encoder's text if the model has a decoder after an encoder.
        text_b: second text of a pair.
        decoder_text: text for a decoder after an encoder; the same text again when None.
        generate: number of tokens to write.
    """

    model: str
    text: str
    text_b: str | None = None
    decoder_text: str | None = None
    generate: int = 0

    @property
    def id(self) -> str:
        """Id of the request, 32 hex digits, the same for equal requests."""
        text = json.dumps(asdict(self), sort_keys=True)
        return blake2b(text.encode("ascii"), digest_size=16).hexdigest()


def read_request(body: bytes, *, limits: Limits) -> LookRequest:
    """Parse a request's body.

    Raises:
        Refusal: 400 if it is not a valid request, 413 if a text is too long.
    """
    try:
        fields = json.loads(body.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise Refusal(400, 'the request is not JSON; expected {"model": ..., "text": ...} in UTF-8') from None
    if not isinstance(fields, dict):
        raise Refusal(400, f'expected an object {{"model": ..., "text": ...}}, got {_kind(fields)}')
    unknown = sorted(set(fields) - set(_KNOWN))
    if unknown:
        raise Refusal(400, f"{_said(unknown[0])} is not known; expected {', '.join(_KNOWN)}")
    return LookRequest(
        model=_string(fields, "model", _LONGEST_NAME),
        text=_string(fields, "text", limits.characters),
        text_b=_optional(fields, "text_b", limits.characters),
        decoder_text=_optional(fields, "decoder_text", limits.characters),
        generate=_count(fields, "generate", limits.generate),
    )


def _string(fields: dict[str, Any], name: str, most: int) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        came = "nothing" if name not in fields else _kind(value)
        raise Refusal(400, f"expected {name} to be a string, got {came}")
    if len(value) > most:
        raise Refusal(413, f"{name} is {len(value):,} characters long, and at most {most:,} are read; shorten it")
    # Half a surrogate pair is not a character, and tokenizers refuse it.
    return value.encode("utf-8", "replace").decode("utf-8")


def _optional(fields: dict[str, Any], name: str, most: int) -> str | None:
    return None if fields.get(name) is None else _string(fields, name, most) or None


def _count(fields: dict[str, Any], name: str, most: int) -> int:
    value = fields.get(name, 0)
    # True is an int in Python, but not a number of tokens.
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        came = _said(value) if isinstance(value, int | float | str) else _kind(value)
        raise Refusal(400, f"expected {name} to be a whole number from 0 to {most}, got {came}")
    return value


def _no_number(name: str) -> Any:
    raise ValueError(name)


def _said(value: Any) -> str:
    # A huge int cannot always be written as text.
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 10**18:
        return "a huge number"
    return repr(shorten(visible(value[:_LONGEST_SAID]), _LONGEST_SAID)) if isinstance(value, str) else str(value)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
