"""How much the explorer takes at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one server admits.

    Attributes:
        body: bytes of a request.
        seconds: for a request's body to arrive.
        characters: of each text.
        tokens: that a model reads of one text or pair, special and generated ones included.
        weights: of one look: a byte each is kept.
        generate: tokens that a model writes.
        waiting: looks that wait for the model; a further one is asked to come back.
        kept: bytes of looks that are kept for their layers to be fetched.
    """

    body: int = 64 * 1024
    seconds: float = 10.0
    characters: int = 20_000
    tokens: int = 2048
    weights: int = 1 << 26
    generate: int = 64
    waiting: int = 64
    kept: int = 512 * 1024 * 1024
