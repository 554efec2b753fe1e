"""Tokens as a person reads them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def readable_tokens(tokeniser: Any, ids: NDArray[np.int64]) -> list[str]:
    """Name tokens for display: without byte-level marks, with WordPiece's `##` kept.

    A piece of a character (byte-level tokenisers cut emoji) keeps its raw name; an id beyond the tokeniser's is `⟨98⟩`.
    """
    numbers = [int(i) for i in ids]
    named = []
    for raw, number in zip(tokeniser.convert_ids_to_tokens(numbers), numbers):
        if raw is None:
            named.append(f"⟨{number}⟩")
            continue
        raw = str(raw)
        text = (
            tokeniser.decode([number]).strip()
            if raw.startswith(("\u0120", "\u2581", "\u010a")) or not raw.isascii()
            else raw
        )
        named.append(text if text and "\ufffd" not in text else raw)
    return named
