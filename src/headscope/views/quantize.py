"""Quantization of attention weights to one byte each, with the largest weight of each row stored separately.

A code is round(255 sqrt(w / m)), m the row's largest weight; the decoded weight is m (code / 255)^2. The square root
keeps small weights distinct; the error of a weight is at most m / 255.

`write_weights` and `read_weights` define the only format in which weights reach a page; its scripts read them with
`static/core/weights.js`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEVELS = 255
_PART = 4  # every part begins at a multiple of 4 bytes, so that a reader can create typed arrays without copying


def row_maxima(weights: NDArray[Any]) -> NDArray[np.float32]:
    """Return each row's largest weight, `[..., query]`, of `weights [..., query, key]`; 0 for a row without keys."""
    largest: NDArray[np.float32] = weights.max(axis=-1, initial=0.0).astype(np.float32)
    return largest


def encode(weights: NDArray[Any], maxima: NDArray[Any]) -> NDArray[np.uint8]:
    """Return the code of each weight, of the shape of `weights`.

    Args:
        weights: `[..., query, key]`, in [0, 1].
        maxima: each row's largest weight as the reader decodes it, `[..., query]`: from `row_maxima`, or rounded. A row
            of 0 gets codes of 0; a weight over its maximum gets 255.
    """
    scale = np.where(maxima > 0, maxima, 1)[..., None]
    shares = np.divide(weights, scale, dtype=np.result_type(weights, np.float32))
    np.sqrt(np.clip(shares, 0, 1, out=shares), out=shares)
    shares *= LEVELS
    codes: NDArray[np.uint8] = np.rint(shares, out=shares).astype(np.uint8)
    return codes


def decode(codes: NDArray[np.uint8], maxima: NDArray[Any]) -> NDArray[np.float32]:
    """Return the weights as a page decodes them: m (code / 255)^2, float32, of the shape of `codes`."""
    table = ((np.arange(LEVELS + 1) / LEVELS) ** 2).astype(np.float32)
    weights: NDArray[np.float32] = table[codes] * maxima[..., None].astype(np.float32)
    return weights


def write_weights(weights: NDArray[Any], maxima: NDArray[Any] | None = None) -> bytes:
    """Return weights as bytes: their codes, padded with zeros to a multiple of 4, then the rows' maxima.

    Codes are uint8 `[..., query, key]`, maxima little-endian float32 `[..., query]`.

    Args:
        weights: `[..., query, key]`, in [0, 1].
        maxima: each row's largest weight, if it is rounded; that of `row_maxima` when None.
    """
    most = (row_maxima(weights) if maxima is None else maxima).astype("<f4")
    return filled(encode(weights, most).tobytes()) + most.tobytes()


def read_weights(content: bytes, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Return the weights `[..., query, key]` that `write_weights` wrote.

    Raises:
        ValueError: the number of bytes does not fit the shape.
    """
    n_codes, n_maxima = math.prod(shape), math.prod(shape[:-1])
    begins = len(filled(bytes(n_codes)))
    if len(content) != begins + 4 * n_maxima:
        raise ValueError(
            f"Expected {begins + 4 * n_maxima} bytes for weights of the shape {shape}, got {len(content)}; "
            "give the shape that they were written with."
        )
    codes = np.frombuffer(content, np.uint8, count=n_codes).reshape(shape)
    return decode(codes, np.frombuffer(content, "<f4", offset=begins).reshape(shape[:-1]))


def filled(part: bytes) -> bytes:
    """Pad bytes with zeros to a multiple of 4."""
    return part + bytes(-len(part) % _PART)


def largest_error(weights: NDArray[Any], content: bytes) -> float:
    """Return the largest difference between a weight and its decoded value; 0 without weights."""
    return float(np.abs(read_weights(content, weights.shape) - weights).max(initial=0.0))
