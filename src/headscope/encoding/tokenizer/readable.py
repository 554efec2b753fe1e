"""Tokens as a person reads them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.tokenizer.token_names import joined_tokens


def readable_tokens(tokenizer: Any, ids: NDArray[np.int64]) -> list[str]:
    """Name tokens for display: without byte-level marks, with WordPiece's `##` kept.

    A piece of a character (byte-level tokenizers cut emoji) keeps its raw name; an id beyond the tokenizer's is `⟨98⟩`.
    """
    numbers = [int(i) for i in ids]
    named = []
    for raw, number in zip(tokenizer.convert_ids_to_tokens(numbers), numbers):
        if raw is None:
            named.append(f"⟨{number}⟩")
            continue
        raw = str(raw)
        text = (
            tokenizer.decode([number]).strip()
            if raw.startswith(("\u0120", "\u2581", "\u010a")) or not raw.isascii()
            else raw
        )
        named.append(text if text and "\ufffd" not in text else raw)
    return named


def joined_pieces(tokenizer: Any, ids: NDArray[np.int64]) -> list[int]:
    """Return the places of tokens that go on with the word of the token before them, from 0, ascending.

    Args:
        tokenizer: of transformers.
        ids: of tokens one after another in a text.
    """
    raw = tokenizer.convert_ids_to_tokens([int(i) for i in ids])
    return joined_tokens(["" if token is None else str(token) for token in raw])
