"""Reading of token names: readable text, words and special tokens, recognized by their marks alone.

A token may be a piece of a character: byte tokenizers cut `Ä` into its bytes C3 and 84, and name each byte by another
character. Such a piece has no text of its own. A character belongs to the token that completes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.tokenizer.spelling import without_marks

# Byte-level BPE's space and line break, SentencePiece's space.
_SPACE, _NEW_LINE, _BLOCK = "\u0120", "\u010a", "\u2581"
_SPECIAL = re.compile(r"\[(?:CLS|SEP|PAD|MASK)\]|</?s>|<(?:pad|mask|cls|sep|bos|eos|eod)>|<\|[a-z_]{1,40}\|>")
_END_OF_WORD = "</w>"
# SentencePiece's tokens for the bytes of characters that no piece covers.
_BYTE_NAMES = {f"<0x{byte:02X}>": bytes([byte]) for byte in range(256)}
_MOST_BYTES = 4  # bytes of a character in UTF-8
SPECIAL_NAMES = ("[CLS]", "[SEP]")
"""BERT's special tokens, for tokenizers that have none."""


class NamedTokens(NamedTuple):
    """The text, words and special tokens found from token names.

    Attributes:
        tokens: each token without its marks, `[token]`.
        words: index of each token's word, from 0, None for a special token, `[token]`; `()` without marks.
        text: each word as text, `[word]`.
        special: positions of special tokens, ascending.
    """

    tokens: tuple[str, ...]
    words: tuple[int | None, ...]
    text: tuple[str, ...]
    special: tuple[int, ...]


def named_special(cls: str | None, sep: str | None) -> tuple[str, str]:
    """Return the names of the special tokens before and after the words; BERT's if there are none."""
    return cls or SPECIAL_NAMES[0], sep or SPECIAL_NAMES[1]


def named_tokens(tokens: Sequence[str]) -> NamedTokens:
    """Read tokens such as `##ing`, `Ġthe`, `▁the`, `the</w>` and `[CLS]`.

    Args:
        tokens: names as `convert_ids_to_tokens` returns them, or any others.
    """
    special = tuple(index for index, token in enumerate(tokens) if _SPECIAL.fullmatch(token))
    starts = _starts(tokens)
    names = _readable(tokens)
    written = list(names)
    if characters := _byte_level_characters(tokens):
        for index, character in characters.items():
            names[index] = character.label
            written[index] = character.text if character.number == 1 else ""
    words: list[int | None] = []
    text: list[str] = []
    fresh = True
    for index in range(len(tokens)):
        if index in special or not starts:
            words.append(None)
            fresh = True
            continue
        begins = fresh or starts[index]
        if begins:
            text.append("")
        text[-1] += written[index] if begins else written[index].removeprefix("##")
        words.append(len(text) - 1)
        fresh = False
    return NamedTokens(tuple(names), tuple(words) if text else (), tuple(text), special)


def joined_tokens(tokens: Sequence[str]) -> list[int]:
    """Return the positions of tokens that continue the word of the previous token, from 0, ascending.

    Args:
        tokens: consecutive tokens of a text, as `convert_ids_to_tokens` names them; without a mark, no token continues
            a word.
    """
    words = named_tokens(tokens).words
    return [index for index in range(1, len(words)) if words[index] is not None and words[index] == words[index - 1]]


def _starts(tokens: Sequence[str]) -> list[bool]:
    """Return True for each token that begins a word; an empty list without marks."""
    if any(token.startswith("##") for token in tokens):
        return [not token.startswith("##") for token in tokens]
    if any(token.startswith((_SPACE, _BLOCK)) for token in tokens):
        return [token.startswith((_SPACE, _NEW_LINE, _BLOCK)) for token in tokens]
    if any(token.endswith(_END_OF_WORD) for token in tokens):
        return [index == 0 or tokens[index - 1].endswith(_END_OF_WORD) for index in range(len(tokens))]
    return []


def _readable(tokens: Sequence[str]) -> list[str]:
    """Return tokens without their marks; bytes that byte-level BPE writes as other characters become text again."""
    byte_level = any(_SPACE in token or _NEW_LINE in token for token in tokens)
    out = []
    for token in tokens:
        text = token.removesuffix(_END_OF_WORD)
        if byte_level and not _SPECIAL.fullmatch(token):
            text = text_of_bytes(text)
            text = text.removeprefix(" ") if text != " " else text
        else:
            text = text.removeprefix(_BLOCK) if text != _BLOCK else " "
        out.append(text or token)
    return out


class CharacterPiece(NamedTuple):
    """A token that is a piece of a character.

    Attributes:
        text: the character, or the few characters that its tokens complete together.
        number: number of this piece among the tokens of the character, from 1.
        tokens: number of tokens of the character.
    """

    text: str
    number: int
    tokens: int

    @property
    def label(self) -> str:
        """Its name for a reader, `byte 3 of 3 of 我`; `part` instead of `byte` if a token is not one byte."""
        unit = "byte" if len(self.text.encode("utf-8", "surrogatepass")) == self.tokens else "part"
        return f"{unit} {self.number} of {self.tokens} of {self.text}"


def _characters(pieces: Sequence[bool], text_between: Callable[[int, int], str]) -> dict[int, CharacterPiece]:
    """Return the character of each piece by its position; a piece whose character is incomplete is left out.

    Args:
        pieces: whether each token is a piece of a character.
        text_between: text of the tokens from one position to before another, empty if a character is incomplete.
    """
    characters: dict[int, CharacterPiece] = {}
    at = 0
    while at < len(pieces):
        stop = at + 1
        if pieces[at]:
            for end in range(at + 2, min(at + _MOST_BYTES, len(pieces)) + 1):
                if not pieces[end - 1]:
                    break
                if text := text_between(at, end).strip():
                    characters |= {at + k: CharacterPiece(text, k + 1, end - at) for k in range(end - at)}
                    stop = end
                    break
        at = stop
    return characters


def _byte_level_characters(tokens: Sequence[str]) -> dict[int, CharacterPiece]:
    """Return the characters whose pieces are tokens of byte-level BPE, by position."""
    if not any(_SPACE in token or _NEW_LINE in token for token in tokens):
        return {}
    table = _bytes()

    def text_between(start: int, end: int) -> str:
        return piece_text(bytes(table[letter] for token in tokens[start:end] for letter in token))

    pieces = [
        not _SPECIAL.fullmatch(token) and all(letter in table for letter in token) and text_of_bytes(token) == token
        and not token.isascii()
        for token in tokens
    ]  # fmt: skip
    return _characters(pieces, text_between)


def text_of_bytes(token: str) -> str:
    """Undo byte-level BPE's alphabet; a piece of a character keeps its name."""
    table = _bytes()
    try:
        return bytes(table[character] for character in token).decode("utf-8")
    except (KeyError, UnicodeDecodeError):
        return token


def piece_bytes(vocabulary: Sequence[str]) -> list[bytes]:
    """Return the UTF-8 bytes of the text of each token, with its white space and without the tokenizer's marks.

    Bytes come from the alphabet of byte-level BPE, from names such as `<0xC3>` (SentencePiece), or from the character
    of each byte's number (ByT5). The whole vocabulary shows which of these the tokenizer uses, so that `Ġ` is a space
    in byte-level BPE and a Maltese letter elsewhere.

    Args:
        vocabulary: the name of each token.
    """
    read = _reader(vocabulary)
    return [read(name) for name in vocabulary]


def piece_text(piece: bytes) -> str:
    """Return the text of a token's bytes; empty if they are pieces of a character."""
    try:
        return piece.decode("utf-8")
    except UnicodeDecodeError:
        return ""


def _reader(vocabulary: Sequence[str]) -> Callable[[str], bytes]:
    """Return the function from a token's name to the bytes of its text."""
    reads, letters = without_marks(vocabulary), set(vocabulary)
    is_marked = reads(_BLOCK) == _BLOCK

    def plain(name: str) -> bytes:
        return (reads(name) or name).encode("utf-8", "surrogatepass")

    def byte_level(name: str) -> bytes:
        table = _bytes()
        return bytes(table[letter] for letter in name) if all(letter in table for letter in name) else plain(name)

    if is_marked:
        return plain
    if sum(name.startswith(_BLOCK) for name in vocabulary) * 100 >= len(vocabulary):
        return lambda name: _BYTE_NAMES.get(name) or plain(name)
    if any(name.startswith((_SPACE, _NEW_LINE)) for name in vocabulary):
        return byte_level
    if letters.issuperset(map(chr, range(256))) and not any(len(name) == 1 and ord(name) > 255 for name in letters):
        return lambda name: bytes([ord(name)]) if len(name) == 1 else plain(name)
    return plain


@cache
def _bytes() -> dict[str, int]:
    """Return the byte of each character of byte-level BPE: printable bytes are themselves, others are moved up."""
    printed = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(byte): byte for byte in printed}
    others = [byte for byte in range(256) if byte not in set(printed)]
    table.update({chr(256 + index): byte for index, byte in enumerate(others)})
    return table


def readable_tokens(tokenizer: Any, ids: NDArray[np.int64]) -> list[str]:
    """Name tokens for display: without byte-level marks, with WordPiece's `##` kept, white space unchanged.

    A piece of a character (byte-level tokenizers cut emoji) is named by it, `byte 3 of 3 of 我`, and keeps its
    raw name if the rest of the character is missing. An id outside the vocabulary is `⟨98⟩`.
    """
    numbers = [int(i) for i in ids]
    named, pieces = [], []
    for raw, number in zip(tokenizer.convert_ids_to_tokens(numbers), numbers):
        if raw is None:
            named.append(f"⟨{number}⟩")
            pieces.append(False)
            continue
        raw = str(raw)
        is_plain = raw.isascii() and not raw.startswith((_SPACE, _BLOCK, _NEW_LINE))
        decoded = raw if is_plain else tokenizer.decode([number])
        text = decoded.strip() or decoded  # a token of white space keeps it
        named.append(text if text and "\ufffd" not in text else raw)
        # A tokenizer writes an incomplete character as U+FFFD, or not at all (ByT5).
        is_byte = _BYTE_NAMES.get(raw, b"")[:1] >= b"\x80"
        pieces.append(is_byte or "\ufffd" in decoded or (not decoded and len(raw) == 1))

    def text_between(start: int, end: int) -> str:
        text = str(tokenizer.decode(numbers[start:end]))
        return "" if "\ufffd" in text else text

    for index, character in _characters(pieces, text_between).items():
        named[index] = character.label
    return named


def joined_pieces(tokenizer: Any, ids: NDArray[np.int64]) -> list[int]:
    """Return the positions of tokens that continue the word of the previous token, from 0, ascending.

    Args:
        tokenizer: a transformers tokenizer.
        ids: ids of consecutive tokens of a text.
    """
    raw = tokenizer.convert_ids_to_tokens([int(i) for i in ids])
    return joined_tokens(["" if token is None else str(token) for token in raw])
