"""The interface of a tokenizer that an encoder needs: pieces of a text, and the special tokens around them."""

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from headscope.encoding.tokenizer.bounds import Normalizing, check_characters, may_be_slow, refused_panic, within_time
from headscope.encoding.tokenizer.text_words import PieceWords, WordFinder, joined_words
from headscope.errors import ModelError

TEXT = -1
Template = list[tuple[int, int]]
"""The ids of the special tokens around texts, with `TEXT` in the place of each text, and the token type of each."""


@dataclass
class Pieces:
    """The pieces of one text, with or without special tokens.

    Attributes:
        ids: token ids, `[piece]`.
        words: the words of the text.
        offsets: first character and end of each piece, `[piece]`; empty if they are not known, or for several texts.
        type_ids: 0 for the first text of a pair, 1 for the second, `[piece]`; empty without special tokens.
        special_tokens_mask: 1 for special tokens, `[piece]`; empty without special tokens.
    """

    ids: list[int]
    words: PieceWords
    offsets: list[tuple[int, int]] = field(default_factory=list)
    type_ids: list[int] = field(default_factory=list)
    special_tokens_mask: list[int] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.ids)

    def truncate(self, most: int, *, direction: str = "right") -> None:
        """Keep `most` pieces of a text without special tokens: the first ones, or the last ones with `left`."""
        kept = slice(0, most) if direction == "right" else slice(max(0, len(self) - most), None)
        self.ids, self.words, self.offsets = self.ids[kept], self.words.part(kept), self.offsets[kept]


def join_pieces(parts: Sequence[Pieces]) -> Pieces:
    """Join the pieces of consecutive lines into one text, with consecutive word numbers."""
    return Pieces([number for part in parts for number in part.ids], joined_words([part.words for part in parts]))


def within_template(template: Template, texts: Sequence[Pieces]) -> Pieces:
    """Return texts with the special tokens of a template around them."""
    ids, types, mask, remaining = [], [], [], iter(texts)
    for number, kind in template:
        inner = next(remaining).ids if number == TEXT else [number]
        ids += inner
        types += [kind] * len(inner)
        mask += [int(number != TEXT)] * len(inner)
    words = joined_words([text.words for text in texts])
    whole = Pieces(ids, words, type_ids=types, special_tokens_mask=mask)
    whole.words = words.among(len(ids), text_places(whole))
    return whole


def text_places(whole: Pieces) -> NDArray[np.int64]:
    """Return the positions of the text's pieces among special tokens, ascending; they keep their order, `[piece]`."""
    return np.flatnonzero(np.array(whole.special_tokens_mask) == 0)


class FastBackend:
    """The backend in Rust of a fast tokenizer, which returns the characters that each piece covers.

    Args:
        tokenizer: a transformers tokenizer with a fast backend.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        # Work on a copy: files often switch padding or truncation on, and the user's tokenizer must not change.
        definition = tokenizer.backend_tokenizer.to_str()
        self._backend: Tokenizer = Tokenizer.from_str(definition)
        self._normalizing = Normalizing(json.loads(definition))
        self._may_be_slow = may_be_slow(json.loads(definition))
        self._words = WordFinder(tokenizer)
        self._backend.no_padding()
        self._backend.no_truncation()

    def pieces(self, texts: Sequence[str]) -> list[Pieces]:
        """Cut texts into pieces, without special tokens."""
        found = []
        for text, encoding in zip(texts, self._cut(texts), strict=True):
            ids, offsets = encoding.ids, encoding.offsets
            found.append(Pieces(ids, self._words(text, ids, offsets), offsets))
        return found

    def _cut(self, texts: Sequence[str]) -> list[Encoding]:
        check_characters(texts)
        for text in texts:
            self._normalizing.check(text)

        def cut() -> list[Encoding]:
            return list(self._backend.encode_batch(list(texts), add_special_tokens=False))

        try:
            return within_time(cut, letters=sum(map(len, texts)), always=self._may_be_slow)
        except BaseException as error:
            if (refused := refused_panic(error, texts)) is None:
                raise
            raise refused from None

    def pieces_of_words(self, text: str, spans: NDArray[np.int64]) -> Pieces:
        """Cut a text into pieces; the tokenizer returns the characters that each piece covers."""
        (encoding,) = self._cut([text])
        return Pieces(encoding.ids, PieceWords.none(len(encoding)), encoding.offsets)

    def template(self, *, texts: int) -> Template:
        """Return the special tokens around one text or two, found by a trial."""
        # Some vocabularies have no letter "a", and leave unknown letters out.
        trials = (self._cut([text])[0] for text in ("a", *self._tokenizer.get_vocab()))
        piece = next(filter(len, trials))
        piece.truncate(1)
        whole = self._backend.post_process(piece, piece if texts == 2 else None, True)
        ids = [i if special else TEXT for i, special in zip(whole.ids, whole.special_tokens_mask)]
        return list(zip(ids, whole.type_ids))

    def unknown_id(self) -> int | None:
        """Return the id of the piece for unknown text; None for tokenizers that fall back to bytes."""
        model = self._backend.model
        if getattr(model, "byte_fallback", False) or "ByteLevel(" in str(self._backend.pre_tokenizer):
            return None
        named = getattr(model, "unk_token", None)
        token_id = self._backend.token_to_id(named) if named else self._tokenizer.unk_token_id
        return None if token_id is None else int(token_id)


def target_tokenizer(tokenizer: Any) -> Any:
    """Return a tokenizer that cuts texts as `tokenizer(text_target=...)` does.

    This is the tokenizer itself if source and target are cut alike, else a copy: the caller's stays in source mode.

    Raises:
        ModelError: the tokenizer needs the target's language, and it is not set.
    """
    if not hasattr(tokenizer, "_switch_to_target_mode"):
        return tokenizer
    if getattr(tokenizer, "is_fast", False):
        target = copy.deepcopy(tokenizer)
    else:
        # A deep copy of Marian's tokenizer reads its files again, which may be gone.
        target = object.__new__(type(tokenizer))
        target.__dict__.update(tokenizer.__dict__)
    try:
        target._switch_to_target_mode()
    except (KeyError, ValueError) as error:
        raise ModelError(
            f"{type(tokenizer).__name__} does not cut a target text (tgt_lang is {tokenizer.tgt_lang!r}); set the "
            "language of the decoder's text: tokenizer.tgt_lang, or tgt_lang in tokenizer_config.json"
        ) from error
    target._in_target_context_manager = True  # prevents a call from switching it back
    return target


def target_note(tokenizer: Any) -> str | None:
    """Return a note if the tokenizer gives the target the language code of the source, else None."""
    source = getattr(tokenizer, "src_lang", None)
    if source is None or getattr(tokenizer, "tgt_lang", source) is not None:
        return None
    return (
        f"the tokenizer names no target language, so that the decoder's text is marked as {source}; set "
        "tokenizer.tgt_lang, or tgt_lang in tokenizer_config.json"
    )
