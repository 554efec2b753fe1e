"""The limits of the explorer."""

from __future__ import annotations

from dataclasses import dataclass


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
