"""The files of a tokenizer, within limits: transformers takes minutes and gigabytes for some that look small."""

import struct
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from headscope.encoding.tokenizer.bounds import check_definition
from headscope.errors import ModelError
from headscope.models.folder.files import MOST_BYTES, READ, VOCABULARIES
from headscope.models.folder.json_files import check_text, read_object
from headscope.models.folder.shown import a_kind, shown
from headscope.models.folder.vocabulary_files import check_lengths, check_vocabulary

DEFINITION = "tokenizer.json"
# Tokenizers of characters and bytes, which need no vocabulary file, only the name of their class.
_WITHOUT_FILES = ("ByT5Tokenizer", "PerceiverTokenizer", "CanineTokenizer")
MOST_ADDED = 100_000
MOST_IDS = 1 << 21  # a token is made for each id below that of an added token
# A token of megabytes takes the tokenizer minutes; the tables in normalizers take 400 kB.
_LONG, _MOST_IN_LONG = 1000, 4 << 20
_ADDED = ("added_tokens", "added_tokens_decoder", "additional_special_tokens", "extra_special_tokens")
# Settings with the number of tokens that a tokenizer's class makes.
_MADE = ("extra_ids", "offset", "num_madeup_words")
_AGAIN = "save the tokenizer again with save_pretrained"


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
    _check_longest(config.get("model_max_length"), folder / "tokenizer_config.json")
    for file, content in contents.items():
        if file != "config.json":
            _check_tokens(content, folder / file)
    added = contents.get("added_tokens.json", {})
    _check_number("tokens to its vocabulary", len(added), folder / "added_tokens.json")
    _check_ids(added.values(), folder / "added_tokens.json")
    for path in sorted(folder.iterdir()):
        if path.is_file() and (path.name in READ or path.suffix == ".model"):
            if path.suffix == ".json":
                _check_json(path)
            elif path.suffix in (".model", ".spm", ".tokenizer"):
                check_vocabulary(path)


def _check_json(path: Path) -> None:
    content = read_object(path, most=MOST_BYTES, again=_AGAIN)
    if path.name != DEFINITION:
        check_text(path, content, again=_AGAIN)
        check_lengths(path, map(len, _texts(content)))
        return
    missing = [part for part in ("model", "added_tokens") if part not in content]
    if missing:
        raise ModelError(f"{shown(path)} has no {missing[0]}; expected a fast tokenizer's definition: {_AGAIN}")
    _check_tokens(content, path, but=("vocab", "merges"))
    try:
        check_definition(content)
    except (ValueError, struct.error):
        raise ModelError(f"{shown(path)} has a normalizer that cannot be read; {_AGAIN}") from None
    except ModelError as error:
        raise ModelError(f"{shown(path)}: {error}") from None


def _check_tokens(value: Mapping[str, Any], path: Path, *, but: tuple[str, ...] = ()) -> None:
    """Check the number of tokens added to a vocabulary, and the length of the texts of tokens."""
    for key in _ADDED:
        if isinstance(tokens := value.get(key), list | dict):
            _check_number("tokens to its vocabulary", len(tokens), path)
    for key in _MADE:
        if isinstance(number := value.get(key), int | float):
            _check_number(f"tokens to its vocabulary ({key})", number, path)
    decoder = value.get("added_tokens_decoder")
    _check_ids(decoder if isinstance(decoder, dict) else (), path)
    long = sum(len(text) for text in _texts(value, but=but) if len(text) > _LONG)
    if long > _MOST_IN_LONG:
        raise ModelError(
            f"{shown(path)} has texts of {long:,} letters for tokens; expected pieces of a few letters: {_AGAIN}"
        )


def _check_number(what: str, number: int | float, path: Path) -> None:
    if number > MOST_ADDED:
        raise ModelError(
            f"{shown(path)} adds {shown(f'{number:,}', limit=40)} {what}; expected at most {MOST_ADDED:,}: {_AGAIN}"
        )


def _check_ids(ids: Iterable[Any], path: Path) -> None:
    """Refuse an added token far above the others: a token is made for every id before it."""
    for each in map(str, ids):
        if each.isascii() and each.isdigit() and (len(each) > 18 or int(each) > MOST_IDS):
            raise ModelError(
                f"{shown(path)} adds a token with the id {shown(each, limit=40)}; expected at most {MOST_IDS:,}: "
                f"{_AGAIN}"
            )


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


def _check_longest(most: Any, path: Path) -> None:
    """Refuse a maximum length that is not a number; a missing one, and transformers' huge default, are accepted."""
    if most is None:
        return
    number = isinstance(most, int | float) and not isinstance(most, bool)
    if not number or most != most or most < 1:  # NaN differs from itself
        written = repr(most) if isinstance(most, str) else str(most) if number else a_kind(most)
        raise ModelError(
            f"{shown(path)}: model_max_length is {shown(written, limit=40)}; expected a number of tokens from 1: mend "
            f"it, or {_AGAIN}"
        )
