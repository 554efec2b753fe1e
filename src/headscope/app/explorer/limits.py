"""How much the explorer takes at once."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What one server admits.

    Attributes:
        connections: open at once; beyond them, the one that has kept the server waiting the longest is answered with
            503 and closed.
        leaving: connections that were answered and are being closed.
        head: bytes of a request's line and headers.
        headers: of a request.
        body: bytes of a request.
        head_seconds: for a connection to bring a request's line and headers.
        seconds: for a request's body to arrive.
        answer_seconds: in which a client that is sent an answer must take `answer_bytes` of it, or the rest.
        answer_bytes: see `answer_seconds`.
        linger_seconds: for a client that was refused to stop sending.
        characters: of each text.
        tokens: that a model reads of one text or pair, special and generated ones included.
        weights: of one look: a byte each is kept.
        generate: tokens that a model writes.
        waiting: looks that wait for the model; a further one is asked to come back.
        kept: bytes of looks that are kept for their layers to be fetched.
    """

    connections: int = 64
    leaving: int = 256
    head: int = 16 * 1024
    headers: int = 100
    body: int = 64 * 1024
    head_seconds: float = 5.0
    seconds: float = 10.0
    answer_seconds: float = 10.0
    answer_bytes: int = 64 * 1024
    linger_seconds: float = 1.0
    characters: int = 20_000
    tokens: int = 2048
    weights: int = 1 << 26
    generate: int = 64
    waiting: int = 64
    kept: int = 512 * 1024 * 1024
