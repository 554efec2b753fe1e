"""SentencePiece's and tiktoken's files: transformers tries every cut of every piece, which takes hours for a piece of
80,000 characters."""

from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

from headscope.encoding.tokenizer.bounds import MOST_GROWTH, longest_entry
from headscope.errors import ModelError
from headscope.models.folder.files import MOST_BYTES
from headscope.models.folder.shown import shown
from headscope.storage.bounded import read_regular

MOST_CUTS = 1 << 30
"""Maximum sum of the squared lengths of the pieces, which takes seconds. Real vocabularies have 20 million."""
MOST_PIECES = 4_000_000
_AGAIN = "save the tokenizer again with save_pretrained"
# Fields of SentencePiece's protocol buffer: pieces, and the tables of its normalizer and denormalizer.
_PIECES, _NORMALIZERS, _TABLE = 1, (3, 5), 2
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


def check_vocabulary(path: Path) -> None:
    """Refuse a binary vocabulary with pieces, or replacements of characters, that are too long for any text.

    Args:
        path: path of the file, of either kind: transformers tries one, and then the other.

    Raises:
        ModelError: a piece or a replacement is too long.
    """
    content = read_regular(path, most=MOST_BYTES)
    tables: list[bytes] = []

    def pieces() -> Iterator[int]:
        for number, start, end in _fields(content, 0, len(content)):
            if number == _PIECES:
                yield end - start
            elif number in _NORMALIZERS:
                inner = _fields(content, start, end)
                tables.extend(content[first:last] for part, first, last in inner if part == _TABLE)

    check_lengths(path, pieces())
    check_lengths(path, _tiktoken_lines(content))
    longest = max(map(longest_entry, tables), default=0)
    if longest > MOST_GROWTH:
        raise ModelError(f"{shown(path)} makes {longest:,} letters of one; expected at most {MOST_GROWTH}: {_AGAIN}")


def check_lengths(path: Path, lengths: Iterator[int]) -> None:
    """Refuse pieces whose total length is too large, or too many pieces.

    Args:
        path: path of the file, for messages.
        lengths: lengths of the pieces.

    Raises:
        ModelError: a limit is exceeded; gives the length of the longest piece, or the number of pieces.
    """
    cuts = number = longest = 0
    for length in lengths:
        cuts, number, longest = cuts + length * length, number + 1, max(longest, length)
        if number > MOST_PIECES:
            raise ModelError(f"{shown(path)} has more than {MOST_PIECES:,} pieces; expected fewer: {_AGAIN}")
        if cuts > MOST_CUTS:
            raise ModelError(f"{shown(path)} has pieces of up to {longest:,} letters; expected a few letters: {_AGAIN}")


def _tiktoken_lines(content: bytes) -> Iterator[int]:
    """Yield the lengths of tiktoken's lines, each a piece and its number; nothing if the first has another form."""
    begun = False
    for line in BytesIO(content):
        if not begun and line.strip():
            parts = line.split(None, 2)
            if len(parts) != 2 or not parts[1].isdigit():
                return
            begun = True
        yield len(line) * 3 // 4  # base64


def _fields(content: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield number, first byte and end of each bytes field of a protocol buffer, up to the first invalid field."""
    while at < end:
        key, at = _varint(content, at, end)
        kind = key & 7
        if kind == _BYTES:
            length, at = _varint(content, at, end)
            if at + length > end:
                return
            yield key >> 3, at, at + length
            at += length
        elif kind == _VARINT:
            _, at = _varint(content, at, end)
        elif kind in (_EIGHT, _FOUR):
            at += 8 if kind == _EIGHT else 4
        else:
            return


def _varint(content: bytes, at: int, end: int) -> tuple[int, int]:
    """Read a number with seven bits per byte; return it and the start of the next field, the end if it is cut off."""
    if at < end and content[at] < 128:
        return content[at], at + 1
    value = shift = 0
    while at < end and shift < 64:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at
    return 0, end
