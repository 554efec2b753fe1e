"""Requests of the explorer's page, parsed from any bytes, with the limits of a server and the error answers."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

from headscope.visible import shown

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
        kept: bytes of cached attention, from which the page fetches layers.
    """

    connections: int = 64
    body: int = 64 * 1024
    characters: int = 20_000
    tokens: int = 2048
    weights: int = 1 << 26
    generate: int = 64
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


def internal_error(error: Exception) -> Refusal:
    """Log an error of the explorer itself in one line, and return status 500, which names only the error's class."""
    _log.error("headscope: the explorer met an error of its own: %s", describe_error(error))
    name = type(error).__name__
    return Refusal(500, f"the explorer met an error of its own ({name}); the terminal it runs in says more")


def describe_error(error: BaseException) -> str:
    """Return an error's class, message and place in one printable line."""
    frames = traceback.extract_tb(error.__traceback__)
    location = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    message = f": {shown(error, limit=LONGEST)}" if str(error) else ""
    return f"{type(error).__name__}{message}{location}"


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


_NEEDED = {"model", "text"}
_TEXTS = {*_NEEDED, "text_b", "decoder_text"}
_EXPECTED = (
    'expected JSON in UTF-8, {{"model": ..., "text": ...}}, with text_b, decoder_text (texts) and generate (a whole '
    "number from 0 to {most}) where needed"
)


def read_request(body: bytes, *, limits: Limits) -> LookRequest:
    """Parse a request's body.

    Raises:
        Refusal: 400 if it is not a valid request, 413 if a text is too long.
    """
    try:
        fields = dict(json.loads(body.decode("utf-8")))
    except (ValueError, TypeError, RecursionError):
        fields = {}
    generate = fields.pop("generate", 0)
    texts = {name: value for name, value in fields.items() if name in _NEEDED or value not in (None, "")}
    of_text = _NEEDED <= texts.keys() <= _TEXTS and all(isinstance(value, str) for value in texts.values())
    # True is an int in Python, but not a number of tokens.
    if not of_text or type(generate) is not int or not 0 <= generate <= limits.generate:
        raise Refusal(400, _EXPECTED.format(most=limits.generate))
    for name, value in texts.items():
        if len(value) > limits.characters:
            said = f"{name} is {len(value):,} characters long, and at most {limits.characters:,} are read; shorten it"
            raise Refusal(413, said)
    # Half a surrogate pair is not a character, and tokenizers refuse it.
    whole = {name: value.encode("utf-8", "replace").decode("utf-8") for name, value in texts.items()}
    return LookRequest(**whole, generate=generate)
