"""Classify the delimiters among the tokens of a vocabulary by their text."""

import unicodedata
from collections.abc import Collection, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.behaviors.catalog import Delimiter
from headscope.encoding.tokenizer.token_names import named_tokens, piece_bytes, piece_text
from headscope.prepare.prepared_run import ModelRun

_QUOTES = frozenset("\"'`´‘’‚‛“”„‟‹›«»＂＇")
_BRACKETS = frozenset({"Ps", "Pe"})
# Signs that are counted by the statistic `period_comma`.
_COUNTED = (".", ",")


def delimiter_of(text: str) -> Delimiter:
    """Return the delimiter class of a token's text; spaces around other signs are ignored."""
    if not text:
        return Delimiter.NONE
    if text.isspace():
        return Delimiter.NEWLINE if len(f"{text}.".splitlines()) > 1 else Delimiter.BLANK
    signs = text.strip()
    categories = [unicodedata.category(sign) for sign in signs]
    if all(sign in _QUOTES for sign in signs):
        return Delimiter.QUOTE
    if not all(category.startswith("P") or sign in _QUOTES for sign, category in zip(signs, categories)):
        return Delimiter.NONE
    # Typographic quotation marks may have the Unicode category of brackets.
    if any(c in _BRACKETS and sign not in _QUOTES for sign, c in zip(signs, categories)):
        return Delimiter.BRACKET
    return Delimiter.NONE if signs in _COUNTED else Delimiter.MARK


def delimiters_of(named: Mapping[int, str], *, special: Collection[int] = ()) -> NDArray[np.uint8]:
    """Return the `Delimiter` of each token id, `[id]`; `NONE` for ids without a token and pieces of a character.

    Args:
        named: the tokenizer's name of each id: `Ġ(`, `##)`, `▁`, `<0x0A>`.
        special: ids that are not text, whatever their names.
    """
    ids = sorted(named)
    tokens = [named[token_id] for token_id in ids]
    no_text = {ids[index] for index in named_tokens(tokens).special}.union(special)
    delimiters = np.zeros(ids[-1] + 1 if ids else 1, dtype=np.uint8)
    for token_id, text in zip(ids, map(piece_text, piece_bytes(tokens)), strict=True):
        # Most tokens are letters and digits, and are skipped for speed.
        if token_id not in no_text and not (text.isascii() and text.strip().isalnum()):
            delimiters[token_id] = delimiter_of(text)
    return delimiters


_OF_RUNS: "WeakKeyDictionary[ModelRun, NDArray[np.uint8]]" = WeakKeyDictionary()


def delimiters_of_run(run: ModelRun) -> NDArray[np.uint8]:
    """Return the `Delimiter` of each token id of a run's tokenizer, `[id]`.

    The result is cached by run, because stages declare their scans several times, and each declaration needs it.
    """
    if run not in _OF_RUNS:
        _OF_RUNS[run] = delimiters_of_tokenizer(run.loaded.tokenizer)
    return _OF_RUNS[run]


def delimiters_of_tokenizer(tokenizer: Any) -> NDArray[np.uint8]:
    """Return the `Delimiter` of each token id of a transformers tokenizer, `[id]`."""
    named = {int(number): str(token) for token, number in tokenizer.get_vocab().items()}
    return delimiters_of(named, special={int(token_id) for token_id in tokenizer.all_special_ids})
