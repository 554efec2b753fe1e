"""Keys of a model folder's JSON files with which transformers opens unchecked files: one list."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.errors import ModelError
from headscope.models.folder.json_files import MOST_TOKENIZER, read_object
from headscope.models.folder.shown import shown

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
