"""A hash of every row of every head, which depends only on the seed, document, segment, row and head.

BLAKE2b of the seed, the segment's index and its document's id is extended to rows and heads by SplitMix64 (Steele, Lea
and Flood 2014), a bijection of 64 bits, which is a thousand times faster than BLAKE2b.
"""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from headscope.attention.head_id import KINDS

# The increments of two sequences: odd, with as many ones as zeros.
_ROWS, _HEADS = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)


def segment_key(document: str, segment: int, *, seed: int) -> np.uint64:
    """Return the key from which all hashes of a segment are derived."""
    digest = blake2b(f"{seed}/{segment}/{document}".encode(), digest_size=8).digest()
    return np.uint64(int.from_bytes(digest, "little"))


def segment_keys(segments: Iterable[tuple[str, int]], *, seed: int) -> NDArray[np.uint64]:
    """Return the key of each segment, given by its document and index, `[segment]`."""
    return np.array([segment_key(*name, seed=seed) for name in segments], dtype=np.uint64)


@lru_cache(maxsize=8)
def keys_of_batch(documents: tuple[str, ...], indices: tuple[int, ...], *, seed: int) -> NDArray[np.uint64]:
    """Return the key of each segment of a batch, `[segment]`; cached because every layer of the batch needs it."""
    keys = segment_keys(zip(documents, indices, strict=True), seed=seed)
    keys.flags.writeable = False
    return keys


def token_hashes(keys: NDArray[np.uint64], tokens: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the hash of each token, `[segment, token]`, one for all heads: the hash of its row in the first head.

    Args:
        keys: keys of the segments, `[segment]`.
        tokens: each token's position in its segment, `[segment, token]`.
    """
    return row_hashes(keys, tokens, kind="encoder", layer=0, heads=1)[:, 0]


def row_hashes(
    keys: NDArray[np.uint64], rows: NDArray[np.int64], *, kind: str, layer: int, heads: int
) -> NDArray[np.uint64]:
    """Return the hash of each row of a layer's heads, `[segment, head, row]`.

    Args:
        keys: keys of the segments, `[segment]`.
        rows: each row's position in its segment, `[segment, row]`.
        kind, layer: kind and layer of the heads.
        heads: number of heads.
    """
    return _mixed(row_keys(keys, rows)[:, None] + head_keys(kind, layer, heads)[:, None])


def row_keys(keys: NDArray[np.uint64], rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the part of each row's hash that all heads share, `[segment, row]`."""
    return _mixed(keys[:, None] + (rows.astype(np.uint64) + np.uint64(1)) * _ROWS)


def head_keys(kind: str, layer: int, heads: int) -> NDArray[np.uint64]:
    """Return the number that is added to the row keys for each head of a layer, `[head]`."""
    first = np.uint64(KINDS.index(kind) << 40 | layer << 20)
    return (first + np.arange(heads, dtype=np.uint64) + np.uint64(1)) * _HEADS


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply SplitMix64's finalizer."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
