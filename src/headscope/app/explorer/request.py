"""Requests of a page, parsed from bytes with any content."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import Any

from headscope.app.explorer.http_answers import Limits, Refusal
from headscope.visible import shorten, visible

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
