"""The limits of the explorer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of one server.

    Attributes:
        connections: number of open connections; beyond it, the one that has kept the server waiting the longest is
            answered with 503 and closed.
        leaving: number of connections that were answered and are being closed.
        head: bytes of a request's line and headers.
        headers: number of a request's headers.
        body: bytes of a request's body.
        head_seconds: seconds for a connection to send a request's line and headers.
        seconds: seconds for a request's body to arrive.
        answer_seconds: seconds in which a client must take `answer_bytes` of its answer, or the rest.
        answer_bytes: bytes per `answer_seconds`.
        linger_seconds: seconds for a refused client to stop sending.
        characters: characters of each text.
        tokens: tokens that a model reads from one text or pair, including special and generated ones.
        weights: attention weights of one request; each takes one byte in the cache.
        generate: number of tokens that a model writes.
        waiting: number of requests that wait for the model; further ones are refused with 503.
        kept: bytes of cached attention, from which the page fetches layers.
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
