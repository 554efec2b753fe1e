"""The files of a model folder: regular files up to a size, JSON objects within limits, and no names of other files."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.errors import ModelError
from headscope.storage.bounded import UnreadableFileError, check_regular, read_json
from headscope.visible import a_kind, shown

VOCABULARIES = (
    *("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model", "spm.model"),
    *("sentencepiece.model", "sentencepiece.bpe.model", "source.spm", "prophetnet.tokenizer"),
)
"""Vocabulary files; a tokenizer has at least one of them."""
READ = (
    *VOCABULARIES,
    *("merges.txt", "bpe.codes", "dict.txt", "target.spm", "target_vocab.json", "tekken.json", "tiktoken.model"),
    *("vocab-src.json", "vocab-tgt.json", "entity_vocab.json", "byte_maps.json", "normalizer.json", "emoji.json"),
    *("word_shape.json", "word_pronunciation.json", "spm_char.model"),
)
"""Files that any tokenizer class of transformers reads."""
MOST_VOCABULARY = 128 << 20
_MOST_TEMPLATE = 4 << 20
_TEMPLATES = "additional_chat_templates"  # a folder in which transformers reads templates
_REMEDY = "take it out of the folder, or save the tokenizer again with save_pretrained"
MOST_BYTES = 4 << 20
"""Maximum size, enough for a configuration of 100,000 labels; real ones take kilobytes."""
MOST_TOKENIZER = 16 << 20
"""Maximum size of tokenizer_config.json; older ones hold each added token."""
_REFUSED = {
    # Versions of the configuration, and a file of weights, which may be a pickle.
    "config.json": ("configuration_files", "transformers_weights"),
    # Versions of tokenizer.json, which may be outside of the folder; arguments of a tokenizer's class that are paths,
    # or replace a vocabulary that was checked; and files opened by SentencePiece, MeCab and Sudachi.
    "tokenizer_config.json": (
        *("fast_tokenizer_files", "gguf_file", "init_inputs", "vocab", "merges", "sp_model_kwargs.model_file"),
        *("sp_model_kwargs.model_proto", "mecab_kwargs.mecab_option", "sudachi_kwargs.sudachi_config_path"),
        "sudachi_kwargs.sudachi_resource_dir",
    ),
}
_TOKENS = ("_token", "_tokens")
_AGAIN = "save the tokenizer again with save_pretrained"


def check_files(folder: Path) -> None:
    """Refuse a folder with a device, a FIFO or a socket, a link to one, or a tokenizer file without end.

    Raises:
        ModelError: there is such a file; names it.
    """
    for path in sorted([*folder.iterdir(), *(folder / _TEMPLATES).glob("*.jinja")]):
        try:
            check_regular(path, most=_most_bytes(path))
        except FileNotFoundError:
            pass  # a broken link counts as a missing file
        except UnreadableFileError as error:
            if not path.is_dir():
                raise ModelError(f"{shown(path)} {error.problem}; {_REMEDY}") from None


def _most_bytes(path: Path) -> int:
    if path.suffix == ".jinja":
        return _MOST_TEMPLATE
    # transformers takes any `.model` file for SentencePiece's; weights and files of other programs may have any size.
    return MOST_VOCABULARY if path.name in READ or path.suffix == ".model" else sys.maxsize


def read_object(path: Path, *, most: int = MOST_BYTES, again: str = "save the model again") -> dict[str, Any]:
    """Read a file that holds a JSON object.

    Args:
        path: the file.
        most: maximum size in bytes.
        again: advice to the user about a broken file.

    Raises:
        ModelError: the file is not a regular file, too large, not JSON, nested too deeply, or not an object.
    """
    try:
        value = read_json(path, most=most)
    except UnreadableFileError as error:
        raise ModelError(f"{shown(path)} {error.problem}; {again}") from None
    if not isinstance(value, dict):
        raise ModelError(f"{shown(path)} holds {a_kind(value)}; expected an object in braces: {again}")
    return value


def check_text(path: Path, value: Any, *, again: str = "save the model again") -> None:
    """Refuse half a character (a lone surrogate), which JSON can express but no text file can hold.

    Args:
        path: path of the file, for messages.
        value: content of the file.
        again: advice to the user about it.

    Raises:
        ModelError: there is one; gives its code.
    """
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ModelError(
            f"{shown(path)} holds half a character (a lone surrogate, U+{ord(text[error.start]):04X}); expected "
            f"Unicode: {again}"
        ) from None


def refuse_named_files(folder: Path, contents: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse files that name other files to open.

    Args:
        folder: the model folder.
        contents: content of each of its JSON files, by file name.

    Raises:
        ModelError: a file names others; gives the file and its key.
    """
    for file, keys in _REFUSED.items():
        for key in keys:
            outer, _, inner = key.partition(".")
            value = contents.get(file, {}).get(outer)
            if inner:
                value = value.get(inner) if isinstance(value, dict) else None
            if value not in (None, [], {}, ""):
                raise ModelError(
                    f"{shown(folder / file)} names other files to read ({key}); only the files that save_pretrained "
                    f"writes are read: take {key} out, or {_AGAIN if file != 'config.json' else 'save the model again'}"
                )
    # For transformers, any entry here takes precedence over the files in the folder.
    for key, value in contents.get("special_tokens_map.json", {}).items():
        if not key.endswith(_TOKENS) and value is not None:
            raise ModelError(
                f"{shown(folder / 'special_tokens_map.json')} holds {shown(key, limit=60)}; expected special tokens "
                f"alone: take it out, or {_AGAIN}"
            )
    if (templates := contents.get("tokenizer_config.json", {}).get("chat_template")) is not None:
        _check_templates(templates, folder / "tokenizer_config.json")


def without_paths(folder: Path) -> dict[str, None]:
    """Return the options with which transformers reads the folder's own files, not those named in its configuration.

    Many tokenizer_config.json files hold paths on their author's machine.
    """
    path = folder / "tokenizer_config.json"
    keys = read_object(path, most=MOST_TOKENIZER) if path.is_file() else {}
    return {key: None for key in keys if key.endswith("_file")}


def _check_templates(templates: Any, path: Path) -> None:
    """Refuse chat templates that are not texts, and names that are paths: each is saved in a file of its name."""
    named: list[tuple[Any, Any]] = [("default", templates)]
    if isinstance(templates, dict):
        named = list(templates.items())
    elif isinstance(templates, list):
        named = [
            (each.get("name"), each.get("template")) if isinstance(each, dict) else (None, each) for each in templates
        ]
    for name, template in named:
        if not isinstance(name, str) or not isinstance(template, str):
            raise ModelError(f"{shown(path)}: chat_template is not a text, or texts by name; take it out, or {_AGAIN}")
        if name != Path(name).name or "\\" in name or "\0" in name:
            raise ModelError(
                f"{shown(path)} has a chat template of the name {shown(repr(name), limit=60)}; expected a plain name: "
                "rename it, or take chat_template out"
            )
