"""The files of a tokenizer, within bounds: transformers takes minutes and gigabytes over some that look small."""

import math
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headscope.encoding.tokenizer.bounds import check_definition
from headscope.errors import ModelError
from headscope.models.folder.json_files import read_object
from headscope.models.folder.shown import a_kind, shown

KNOWN = (
    *("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model", "spm.model"),
    *("sentencepiece.model", "sentencepiece.bpe.model", "source.spm", "prophetnet.tokenizer"),
)
_READ = (*KNOWN, "merges.txt", "bpe.codes", "dict.txt", "target.spm", "target_vocab.json", "tekken.json")
# Letters and bytes: what they are need not be written down, only which of them it is.
_WITHOUT_FILES = ("ByT5Tokenizer", "PerceiverTokenizer", "CanineTokenizer")
MOST_BYTES = 128 << 20
MOST_ADDED = 100_000
# A token of megabytes takes the tokenizer minutes; the tables that normalizers carry take 400 kB.
_LONG, _MOST_IN_LONG = 1000, 4 << 20
_AGAIN = "save the tokenizer again with save_pretrained"


def check_tokenizer(folder: Path, config: Mapping[str, Any], *, name: str) -> None:
    """Refuse a folder without a tokenizer, or with one that no model needs.

    Args:
        folder: the model folder.
        config: what tokenizer_config.json holds; empty where there is none.
        name: how the user calls the model.

    Raises:
        ModelError: names the file, what is wrong with it, and what to do.
    """
    if config.get("tokenizer_class") not in _WITHOUT_FILES and not any((folder / file).is_file() for file in KNOWN):
        raise ModelError(
            f"{shown(name)} has no tokenizer: expected tokenizer.json; save the tokenizer with save_pretrained into "
            "the same folder"
        )
    for path in (folder / file for file in _READ):
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise ModelError(
                f"{shown(path)} has {path.stat().st_size:,} bytes; expected at most {MOST_BYTES:,}: {_AGAIN}"
            )
    beside = folder / "tokenizer_config.json"
    _check_tokens(config, config.get("added_tokens_decoder"), beside)
    _check_longest(config.get("model_max_length"), beside)
    path = folder / "tokenizer.json"
    if path.is_file():
        definition = read_object(path, most=MOST_BYTES, again=_AGAIN)
        missing = [part for part in ("model", "added_tokens") if part not in definition]
        if missing:
            raise ModelError(f"{shown(path)} has no {missing[0]}; expected a fast tokenizer's definition: {_AGAIN}")
        _check_tokens(definition, definition["added_tokens"], path)
        try:
            check_definition(definition)
        except (ValueError, struct.error):
            raise ModelError(f"{shown(path)} has a normalizer that cannot be read; {_AGAIN}") from None
        except ModelError as error:
            raise ModelError(f"{shown(path)}: {error}") from None


def _check_tokens(value: Mapping[str, Any], added: Any, path: Path) -> None:
    """Count what is added to a vocabulary, and what is too long for a piece."""
    if isinstance(added, list | dict) and len(added) > MOST_ADDED:
        raise ModelError(
            f"{shown(path)} adds {len(added):,} tokens to its vocabulary; expected at most {MOST_ADDED:,}: {_AGAIN}"
        )
    long = sum(_long_strings(value))
    if long > _MOST_IN_LONG:
        raise ModelError(
            f"{shown(path)} has texts of {long:,} letters for tokens; expected pieces of a few letters: {_AGAIN}"
        )


def _long_strings(value: Any) -> Iterator[int]:
    """Yield the lengths of texts that are long; the vocabulary's own only make it larger."""
    if isinstance(value, str):
        if len(value) > _LONG:
            yield len(value)
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            if key not in ("vocab", "merges"):
                yield from _long_strings(inner)


def _check_longest(most: Any, path: Path) -> None:
    """Refuse a longest input that is no number; none at all, and the endless one that transformers writes, are."""
    if most is None:
        return
    number = isinstance(most, int | float) and not isinstance(most, bool)
    if not number or math.isnan(most) or most < 1:
        written = repr(most) if isinstance(most, str) else str(most) if number else a_kind(most)
        raise ModelError(
            f"{shown(path)}: model_max_length is {shown(written, limit=40)}; expected a number of tokens from 1: mend "
            f"it, or {_AGAIN}"
        )
