"""Check a model folder before transformers reads it: name what is missing, and refuse what must not be loaded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.errors import ModelError
from headscope.models.folder.files import check_files, read_small_files, refusal, refuse_named_files
from headscope.models.folder.own_code import entries, refuse_own_code
from headscope.models.folder.tokenizer_files import check_tokenizer
from headscope.models.folder.weight_files import INDEX, WEIGHTS, WeightFiles, read_headers
from headscope.visible import described, shown

ADAPTER = "adapter_config.json"
"""The file of an adapter's folder that describes it."""
MOST_LAYERS = 1000
MOST_LABELS = 100_000
_SHARED = 64  # layers that may share their weights, as ALBERT's do
# The quantity of each number, with its names in different families.
_LAYERS = frozenset({
    "num_hidden_layers", "n_layer", "n_layers", "num_layers", "num_decoder_layers", "num_encoder_layers",
    "encoder_layers", "decoder_layers", "num_hidden_groups", "inner_group_num", "num_blocks", "depth",
})  # fmt: skip
_HEADS = frozenset({
    "num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads",
    "decoder_attention_heads", "num_key_value_heads",
})  # fmt: skip
_SIZES = frozenset({
    "hidden_size", "d_model", "dim", "n_embd", "embedding_size", "d_kv", "head_dim", "intermediate_size",
    "d_ff", "hidden_dim", "n_inner", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim", "vocab_size",
    "type_vocab_size", "max_position_embeddings", "n_positions", "n_ctx",
})  # fmt: skip
_MOST = {
    **dict.fromkeys(_LAYERS, MOST_LAYERS),
    **dict.fromkeys(_HEADS, 1 << 16),
    **dict.fromkeys(_SIZES, 1 << 24),
    **dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 1 << 12),
    "num_labels": MOST_LABELS,
}
_POSITIONS = ("max_position_embeddings", "n_positions")
# Names chosen by the user are not sizes, whatever they look like, and neither are the settings of quantization.
_NAMES = ("id2label", "label2id", "task_specific_params", "quantization_config")


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
    has_adapter = (folder / ADAPTER).is_file()
    if not (folder / "config.json").is_file():
        if (folder / "manifest.json").is_file():
            hint = "; it holds a finished run, which has no weights: give the model that the run read"
        elif has_adapter:
            hint = (
                "; it holds an adapter alone: headscope compare MODEL ADAPTER compares it with its model, or merge it "
                "into its model with peft's merge_and_unload"
            )
        else:
            hint = ""
        raise ModelError(
            f"{shown(name)} has no config.json; expected a model folder as save_pretrained writes it{hint}"
        )
    if has_adapter:
        # If peft is installed, transformers reads an adapter, including pickles; if it is not, the adapter is ignored.
        raise ModelError(
            f"{shown(name)} holds an adapter beside its model (adapter_config.json), which is not read; merge it with "
            "peft's merge_and_unload and save the whole, or take it out of the folder"
        )
    contents = read_small_files(folder)
    config = contents["config.json"]
    refuse_own_code(config, contents.get("tokenizer_config.json", {}), name=name)
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
    _check_numbers(config, folder / "config.json", tensors=None if headers is None else headers.tensors)
    check_tokenizer(folder, contents, name=name)
    return headers


def _check_numbers(config: Mapping[str, Any], path: Path, *, tensors: int | None) -> None:
    """Refuse a configuration with sizes that no model can have.

    Args:
        config: content of config.json.
        path: path of the file, for messages.
        tensors: number of tensors in the weights, if it is known: a layer that shares no weights has at least one.
    """
    for key, value in entries(config, but=_NAMES):
        if key not in _MOST:
            continue
        # Some families have a separate size for each layer.
        for size in value if isinstance(value, list) else [value]:
            if size is None and key not in _LAYERS:
                continue  # a size that follows from others
            least, most = int(key in _POSITIONS), _MOST[key]
            if type(size) is not int or not least <= size <= most:
                problem = f"gives {key} as {described(size)}"
                raise refusal(path, problem, expected=f"a whole number from {least} to {most:,}")
            if key in _LAYERS and tensors is not None and size > tensors + _SHARED:
                problem = f"gives {key} as {size:,}, and the weights hold {tensors:,} tensors"
                raise refusal(path, problem, expected="the config.json that was saved with the weights")
    labels = config.get("id2label")
    if isinstance(labels, dict | list) and len(labels) > MOST_LABELS:
        raise refusal(path, f"names {len(labels):,} labels", expected=f"at most {MOST_LABELS:,}")
