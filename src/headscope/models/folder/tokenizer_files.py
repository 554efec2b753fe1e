"""The files of a tokenizer, within limits: transformers takes minutes and gigabytes for some that look small."""

import struct
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

from headscope.encoding.tokenizer.bounds import MOST_GROWTH, check_definition, longest_entry
from headscope.errors import ModelError
from headscope.models.folder.files import MOST_VOCABULARY, READ, VOCABULARIES, read_object, refusal
from headscope.storage.bounded import read_regular
from headscope.visible import described, shown

DEFINITION = "tokenizer.json"
# Tokenizers of characters and bytes, which need no vocabulary file, only the name of their class.
_WITHOUT_FILES = ("ByT5Tokenizer", "PerceiverTokenizer", "CanineTokenizer")
MOST_ADDED = 100_000
MOST_IDS = 1 << 21  # a token is made for each id below that of an added token
# Limit on the sum of long texts: a token of megabytes takes minutes; a normalizer's table has 400 kB.
_LONG, _MOST_IN_LONG = 1000, 4 << 20
_ADDED = ("added_tokens", "added_tokens_decoder", "additional_special_tokens", "extra_special_tokens")
# Settings with the number of tokens that a tokenizer's class makes.
_MADE = ("extra_ids", "offset", "num_madeup_words")
MOST_SQUARED_LENGTHS = 1 << 30
"""Maximum sum of the squared lengths of the pieces; it takes seconds to load. Real vocabularies have 20 million."""
MOST_PIECES = 4_000_000
# Fields of SentencePiece's protocol buffer: pieces, and the tables of its normalizer and denormalizer.
_PIECES, _NORMALIZERS, _TABLE = 1, (3, 5), 2
_VARINT, _EIGHT, _BYTES, _FOUR = 0, 1, 2, 5


def check_tokenizer(folder: Path, contents: Mapping[str, Mapping[str, Any]], *, name: str) -> None:
    """Refuse a folder without a tokenizer, or with a tokenizer beyond the limits of any model.

    Args:
        folder: the model folder; each of its files is checked (`check_files`).
        contents: content of each of its small JSON files, by file name.
        name: name of the model as given by the user.

    Raises:
        ModelError: the tokenizer is refused; names the file, the error, and what to do.
    """
    config = contents.get("tokenizer_config.json", {})
    if config.get("tokenizer_class") not in _WITHOUT_FILES and not any((folder / n).is_file() for n in VOCABULARIES):
        raise ModelError(
            f"{shown(name)} has no tokenizer: expected tokenizer.json; save the tokenizer with save_pretrained into "
            "the same folder"
        )
    for file, content in contents.items():
        if file != "config.json":
            _check_tokens(content, folder / file)
    longest = config.get("model_max_length")
    # A missing length, and transformers' huge default, are accepted; NaN is not at least 1.
    if longest is not None and not (isinstance(longest, int | float) and longest is not True and longest >= 1):
        problem = f"gives model_max_length as {described(longest)}"
        raise refusal(folder / "tokenizer_config.json", problem, expected="a number of tokens from 1")
    for path in sorted(folder.iterdir()):
        if path.is_file() and (path.name in READ or path.suffix == ".model"):
            if path.suffix == ".json":
                _check_json(path)
            elif path.suffix in (".model", ".spm", ".tokenizer"):
                check_vocabulary(path)


def _check_json(path: Path) -> None:
    content = read_object(path, most=MOST_VOCABULARY)
    if path.name != DEFINITION:
        check_lengths(path, map(len, _texts(content)))
        return
    if missing := [part for part in ("model", "added_tokens") if part not in content]:
        raise refusal(path, f"has no {missing[0]}", expected="a fast tokenizer's definition")
    _check_tokens(content, path, but=("vocab", "merges"))
    try:
        check_definition(content)
    except (ValueError, struct.error):
        raise refusal(path, "has a normalizer that cannot be read") from None
    except ModelError as error:
        raise ModelError(f"{shown(path)}: {error}") from None


def _check_tokens(content: Mapping[str, Any], path: Path, *, but: tuple[str, ...] = ()) -> None:
    """Check the number of tokens added to a vocabulary, their ids, and the length of the texts of tokens."""
    added = [(key, content.get(key)) for key in _ADDED]
    numbers = {key: len(tokens) for key, tokens in added if isinstance(tokens, list | dict)}
    numbers |= {key: content[key] for key in _MADE if isinstance(content.get(key), int | float)}
    decoder = content.get("added_tokens_decoder")
    ids = [*decoder] if isinstance(decoder, dict) else []
    if path.name == "added_tokens.json":
        numbers, ids = {"": len(content)}, [*map(str, content.values())]
    for key, number in numbers.items():
        if number > MOST_ADDED:
            which = f" ({key})" if key in _MADE else ""
            problem = f"adds {shown(f'{number:,}', limit=40)} tokens to its vocabulary{which}"
            raise refusal(path, problem, expected=f"at most {MOST_ADDED:,}")
    for each in ids:
        if each.isascii() and each.isdigit() and (len(each) > 18 or int(each) > MOST_IDS):
            problem = f"adds a token with the id {shown(each, limit=40)}"
            raise refusal(path, problem, expected=f"at most {MOST_IDS:,}, since a token is made for each id before it")
    long = sum(len(text) for text in _texts(content, but=but) if len(text) > _LONG)
    if long > _MOST_IN_LONG:
        raise refusal(path, f"has texts of {long:,} letters for tokens", expected="pieces of a few letters")


def _texts(value: Any, *, but: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the texts of a JSON value and the keys of its objects, except under some keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key not in but:
                yield key
                yield from _texts(inner, but=but)
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner, but=but)


def check_vocabulary(path: Path) -> None:
    """Refuse a binary vocabulary with pieces, or replacements of characters, that are too long for any text.

    Args:
        path: path of the file; it is checked as SentencePiece and as tiktoken, because transformers tries both.

    Raises:
        ModelError: a piece or a replacement is too long.
    """
    content = read_regular(path, most=MOST_VOCABULARY)
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
        raise refusal(path, f"makes {longest:,} letters of one", expected=f"at most {MOST_GROWTH}")


def check_lengths(path: Path, lengths: Iterator[int]) -> None:
    """Refuse too many pieces, or pieces whose squared lengths sum to more than a limit.

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
            raise refusal(path, f"has more than {MOST_PIECES:,} pieces", expected="fewer")
        if cuts > MOST_SQUARED_LENGTHS:
            raise refusal(path, f"has pieces of up to {longest:,} letters", expected="fewer or shorter pieces")


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
