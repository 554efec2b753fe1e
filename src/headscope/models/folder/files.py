"""The files of a model folder: one reader with limits, and the list of keys that name other files."""

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headscope.errors import ModelError
from headscope.storage.bounded import UnreadableFileError, check_regular, read_json
from headscope.visible import described, shown

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
AGAIN = "copy or download the folder again, or save it again with save_pretrained"
# The small JSON files, each with its maximum size in bytes: a configuration of 100,000 labels has less than 4 MiB, and
# older tokenizer_config.json files hold each added token.
_MOST_BYTES = 4 << 20
MOST_TOKENIZER = 16 << 20
_SMALL = {
    "config.json": _MOST_BYTES,
    "tokenizer_config.json": MOST_TOKENIZER,
    **dict.fromkeys(("special_tokens_map.json", "added_tokens.json", "generation_config.json"), _MOST_BYTES),
}
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


def refusal(path: Path, problem: str, *, expected: str = "") -> ModelError:
    """Return the error for a file of a model folder.

    Args:
        path: path of the file.
        problem: problem with the file, as the part of a sentence that follows its name.
        expected: description of the content that was expected.
    """
    return ModelError(f"{shown(path)} {problem}; {f'expected {expected}: ' if expected else ''}{AGAIN}")


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
                raise refusal(path, error.problem) from None


def _most_bytes(path: Path) -> int:
    if path.suffix == ".jinja":
        return _MOST_TEMPLATE
    # transformers takes any `.model` file for SentencePiece's; weights and files of other programs may have any size.
    return MOST_VOCABULARY if path.name in READ or path.suffix == ".model" else sys.maxsize


def read_object(path: Path, *, most: int = _MOST_BYTES) -> dict[str, Any]:
    """Read a file that holds a JSON object.

    Args:
        path: the file.
        most: maximum size in bytes.

    Raises:
        ModelError: the file is not a regular file, too large, not JSON, nested too deeply, or not an object; or it
            holds half a character, which JSON can express but no text file can hold.
    """
    try:
        value = read_json(path, most=most)
    except UnreadableFileError as error:
        raise refusal(path, error.problem) from None
    if not isinstance(value, dict):
        raise refusal(path, f"holds {described(value)}", expected="an object in braces")
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        raise refusal(path, f"holds half a character (a lone surrogate, {code})", expected="Unicode") from None
    return value


def read_small_files(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the content of each small JSON file of a folder, by file name.

    Raises:
        ModelError: as in `read_object`.
    """
    return {file: read_object(folder / file, most=most) for file, most in _SMALL.items() if (folder / file).is_file()}


def refuse_named_files(folder: Path, contents: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse files that name other files to open, or to write when the tokenizer is saved.

    Args:
        folder: the model folder.
        contents: content of each of its small JSON files, by file name.

    Raises:
        ModelError: a file names others; gives the file and its key.
    """
    for file, key in _keys_of_files(contents):
        problem = f"names other files to read ({shown(key, limit=60)})"
        raise refusal(folder / file, problem, expected=f"it without {shown(key, limit=60)}")
    templates = contents.get("tokenizer_config.json", {}).get("chat_template")
    for name, template in _named_templates(templates):
        # Each template is saved in a file of its name.
        if not (isinstance(name, str) and isinstance(template, str) and is_plain_name(name)):
            problem = f"has a chat template that is not a text under a plain name ({shown(repr(name), limit=60)})"
            raise refusal(folder / "tokenizer_config.json", problem)


def _keys_of_files(contents: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the file and the name of each key that names other files."""
    for file, keys in _REFUSED.items():
        for key in keys:
            value: Any = contents.get(file, {})
            for part in key.split("."):
                value = value.get(part) if isinstance(value, dict) else None
            if value:
                yield file, key
    # For transformers, any entry here takes precedence over the files in the folder.
    for key, value in contents.get("special_tokens_map.json", {}).items():
        if not key.endswith(_TOKENS) and value is not None:
            yield "special_tokens_map.json", key


def _named_templates(templates: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the name and the text of each chat template: a single one has no name of its own."""
    if isinstance(templates, dict):
        yield from templates.items()
    elif isinstance(templates, list):
        for each in templates:
            yield (each.get("name"), each.get("template")) if isinstance(each, dict) else (None, each)
    elif templates is not None:
        yield "default", templates


def is_plain_name(name: str) -> bool:
    """Return True if a name is that of a file in the folder itself."""
    return name == Path(name).name and "\\" not in name and "\0" not in name


def without_paths(folder: Path) -> dict[str, None]:
    """Return the options with which transformers reads the folder's own files, not those named in its configuration.

    Many tokenizer_config.json files hold paths on their author's machine.
    """
    path = folder / "tokenizer_config.json"
    keys = read_object(path, most=MOST_TOKENIZER) if path.is_file() else {}
    return {key: None for key in keys if key.endswith("_file")}
