"""The interface of a tokenizer that an encoder needs: pieces of a text, and the special tokens around them."""

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from headscope.encoding.tokenizer.bounds import Normalizing, check_characters, may_be_slow, refused_panic, within_time
from headscope.encoding.tokenizer.text_words import PieceWords, WordFinder, joined_words
from headscope.errors import ModelError


@runtime_checkable
class Pieces(Protocol):
    """The pieces of one text, with or without special tokens."""

    @property
    def ids(self) -> list[int]:
        """Token ids, `[piece]`."""

    @property
    def type_ids(self) -> list[int]:
        """0 for the first text of a pair, 1 for the second, `[piece]`."""

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """First character and end of each piece, `[piece]`; empty if neither given by the tokenizer nor found."""

    @property
    def words(self) -> PieceWords:
        """The words of the text."""

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for special tokens, `[piece]`."""

    def __len__(self) -> int: ...
    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Keep `max_length` pieces: the first ones, or the last ones with `left`."""


def kept_pieces(number: int, most: int, direction: str) -> slice:
    """Return the slice of the pieces that are kept: the first ones, or the last ones with `left`."""
    return slice(0, most) if direction == "right" else slice(max(0, number - most), None)


def text_places(whole: Pieces) -> NDArray[np.int64]:
    """Return the positions of the text's pieces among special tokens, ascending; they keep their order, `[piece]`."""
    return np.flatnonzero(np.array(whole.special_tokens_mask) == 0)


Cut = TypeVar("Cut", bound=Pieces)


@runtime_checkable
class Backend(Protocol[Cut]):
    """The interface of a tokenizer that an encoder uses."""

    def pieces(self, texts: Sequence[str]) -> Sequence[Cut]:
        """Cut texts into pieces, without special tokens."""

    def pieces_of_words(self, text: str, spans: NDArray[np.int64]) -> tuple[Cut, list[tuple[int, int]]]:
        """Cut a text with words at `spans`, `[word, 2]`; return its pieces and the characters that each covers."""

    def join(self, parts: Sequence[Cut]) -> Cut:
        """Join pieces of consecutive lines into one text."""

    def whole(self, first: Cut, second: Cut | None) -> Cut:
        """Add the special tokens around one text or a pair."""

    def special_tokens(self, *, pair: bool) -> int:
        """Return the number of special tokens around one text or a pair."""

    def id_of(self, token: str) -> int | None:
        """Return the id of a piece by its name; None for an unknown name."""

    def unknown_id(self) -> int | None:
        """Return the id of the piece for unknown text, or None if no text is unknown."""


@dataclass
class FastPieces:
    """Pieces of one text from a backend in Rust, with the words of the text; the interface is `Pieces`."""

    encoding: Encoding
    words: PieceWords

    @property
    def ids(self) -> list[int]:
        """Token ids, `[piece]`."""
        return list(self.encoding.ids)

    @property
    def type_ids(self) -> list[int]:
        """0 for the first text of a pair, 1 for the second, `[piece]`."""
        return list(self.encoding.type_ids)

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """First character and end of each piece, `[piece]`."""
        return list(self.encoding.offsets)

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for special tokens, `[piece]`."""
        return list(self.encoding.special_tokens_mask)

    def __len__(self) -> int:
        return len(self.encoding)

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Keep `max_length` pieces: the first ones, or the last ones with `left`."""
        kept = kept_pieces(len(self), max_length, direction)
        self.encoding.truncate(max_length, stride=stride, direction=direction)
        self.words = self.words.part(kept)


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

    def pieces(self, texts: Sequence[str]) -> list[FastPieces]:
        """Cut texts into pieces, without special tokens."""
        return [
            FastPieces(encoding, self._words(text, encoding.ids, encoding.offsets))
            for text, encoding in zip(texts, self._cut(texts), strict=True)
        ]

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

    def pieces_of_words(self, text: str, spans: NDArray[np.int64]) -> tuple[FastPieces, list[tuple[int, int]]]:
        """Cut a text into pieces; the tokenizer returns the characters that each piece covers."""
        (encoding,) = self._cut([text])
        return FastPieces(encoding, PieceWords.none(len(encoding))), encoding.offsets

    def join(self, parts: Sequence[FastPieces]) -> FastPieces:
        """Join the pieces of consecutive lines into one text, with consecutive word numbers."""
        encoding = Encoding.merge([part.encoding for part in parts], growing_offsets=True)
        return FastPieces(encoding, joined_words([part.words for part in parts]))

    def whole(self, first: FastPieces, second: FastPieces | None) -> FastPieces:
        """Add the special tokens around one text or a pair."""
        encoding = self._backend.post_process(first.encoding, None if second is None else second.encoding, True)
        words = joined_words([text.words for text in (first, second) if text is not None])
        places = np.flatnonzero(np.array(encoding.special_tokens_mask) == 0)
        return FastPieces(encoding, words.among(len(encoding), places))

    def special_tokens(self, *, pair: bool) -> int:
        """Return the number of special tokens around one text or a pair."""
        return int(self._backend.num_special_tokens_to_add(pair))

    def id_of(self, token: str) -> int | None:
        """Return the id of a piece by its name; None for an unknown name."""
        token_id: int | None = self._backend.token_to_id(token)
        return token_id

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
