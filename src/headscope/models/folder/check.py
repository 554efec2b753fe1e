"""Check a model folder before transformers reads it: name what is missing, and refuse what must not be loaded."""

from pathlib import Path

from headscope.errors import ModelError
from headscope.models.folder.config_numbers import check_numbers
from headscope.models.folder.files import check_files
from headscope.models.folder.json_files import MOST_BYTES, MOST_TOKENIZER, check_text, read_object
from headscope.models.folder.named_files import refuse_named_files
from headscope.models.folder.own_code import refuse_other_classes, refuse_own_code
from headscope.models.folder.shown import shown
from headscope.models.folder.tokenizer_files import check_tokenizer
from headscope.models.folder.weight_files import INDEX, WEIGHTS, WeightFiles, read_headers

# The small JSON files, each with its maximum size in bytes.
_JSON = {
    "config.json": MOST_BYTES,
    "tokenizer_config.json": MOST_TOKENIZER,
    **dict.fromkeys(("special_tokens_map.json", "added_tokens.json", "generation_config.json"), MOST_BYTES),
}


def check_folder(folder: Path, *, weights: bool, name: str) -> WeightFiles | None:
    """Refuse a folder that has no model, or cannot be read safely.

    Nothing in it is loaded: headers and small files are read, each up to a limit.

    Args:
        folder: the folder.
        weights: whether the weights are needed, too.
        name: name of the model as given by the user.

    Returns:
        A summary of the weights' headers, if the weights are needed; else None.

    Raises:
        ModelError: the folder is refused; gives the error, the expected content, and what to do.
    """
    check_files(folder)
    has_adapter = (folder / "adapter_config.json").is_file()
    if not (folder / "config.json").is_file():
        alone = "; it holds an adapter alone: merge that into its model with peft's merge_and_unload"
        raise ModelError(
            f"{shown(name)} has no config.json; expected a model folder as save_pretrained writes it"
            f"{alone if has_adapter else ''}"
        )
    if has_adapter:
        # If peft is installed, transformers reads an adapter, including pickles; if it is not, the adapter is ignored.
        raise ModelError(
            f"{shown(name)} holds an adapter beside its model (adapter_config.json), which is not read; merge it with "
            "peft's merge_and_unload and save the whole, or take it out of the folder"
        )
    contents = {
        file: read_object(folder / file, most=most) for file, most in _JSON.items() if (folder / file).is_file()
    }
    for file, content in contents.items():
        check_text(folder / file, content)
    config, tokenizer = contents["config.json"], contents.get("tokenizer_config.json", {})
    refuse_own_code(config, tokenizer, name=name)
    refuse_other_classes(config, tokenizer, name=name)
    refuse_named_files(folder, contents)
    headers = None
    if weights:
        if not any((folder / file).is_file() for file in (WEIGHTS, INDEX)):
            pickled = " (its pytorch_model.bin is a pickle, which is not read)" if any(folder.glob("*.bin")) else ""
            raise ModelError(
                f"{shown(name)} has no weights: expected model.safetensors{pickled}; save the model with "
                "save_pretrained, which writes safetensors"
            )
        headers = read_headers(folder)
    check_numbers(config, file=str(folder / "config.json"), tensors=None if headers is None else headers.tensors)
    check_tokenizer(folder, contents, name=name)
    return headers
