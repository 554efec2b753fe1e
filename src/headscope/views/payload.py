"""Data on its way into a page: JSON that cannot leave its script element, and weights at one byte each."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from headscope.views.markup import Html, raw, text

LEVELS = 255

_ESCAPES = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def json_text(value: Any) -> str:
    """Return JSON in which `<`, `>`, `&`, U+2028 and U+2029 are escaped.

    Raises:
        ValueError: a number is NaN or infinite; write None for what is null.
    """
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escape in _ESCAPES.items():
        written = written.replace(character, escape)
    # A lone surrogate cannot be written as UTF-8; JSON's own escape can.
    return written.encode("utf-8", "backslashreplace").decode("utf-8")


def json_script(identifier: str, value: Any) -> Html:
    """Return `<script type="application/json" id=...>` holding `value`; a browser runs nothing of it."""
    return raw(f'<script type="application/json" id="{text(identifier)}">{json_text(value)}</script>')


def pack(weights: np.ndarray) -> tuple[str, list[float]]:
    """Pack `weights [query, key]` in [0, 1] at one byte each.

    A byte is round(255 sqrt(w / m)), with m the row's largest weight: the square root keeps small weights apart.

    Returns:
        The bytes row by row in base64, and each row's m rounded to four digits.
    """
    largest = np.array([float(f"{value:.4g}") for value in weights.max(axis=1, initial=0.0)])
    scale = np.where(largest > 0, largest, 1.0)[:, None]
    levels = np.rint(LEVELS * np.sqrt(np.clip(weights / scale, 0.0, 1.0))).astype(np.uint8)
    return base64.b64encode(levels.tobytes()).decode("ascii"), largest.tolist()


def unpack(packed: str, largest: list[float], keys: int) -> np.ndarray:
    """Undo `pack` as the page's script does: m (b / 255)^2, `[query, key]`."""
    levels = np.frombuffer(base64.b64decode(packed), dtype=np.uint8).reshape(len(largest), keys)
    return np.asarray(largest)[:, None] * (levels / LEVELS) ** 2
