"""Limits on the sizes in a configuration: each size causes work that transformers does before any check."""

from collections.abc import Iterator, Mapping
from typing import Any

from headscope.errors import ModelError
from headscope.models.folder.shown import a_kind, shown

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


def check_numbers(config: Mapping[str, Any], *, file: str, tensors: int | None = None) -> None:
    """Refuse a configuration with sizes that no model can have.

    Args:
        config: content of config.json.
        file: path of the file, for messages.
        tensors: number of tensors in the weights, if it is known: a layer that shares no weights has at least one.

    Raises:
        ModelError: a size is out of range; gives its name, its value, and the expected range.
    """
    for key, value in _sizes(config):
        # Some families have a separate size for each layer.
        for each in value if isinstance(value, list) else [value]:
            _check(key, each, file)
            if key in _LAYERS and tensors is not None and each > tensors + _SHARED:
                raise ModelError(
                    f"{shown(file)}: {key} is {each:,}, and the weights hold {tensors:,} tensors; expected the "
                    "config.json that was saved with the weights"
                )
    labels = config.get("id2label")
    if isinstance(labels, dict | list) and len(labels) > MOST_LABELS:
        raise ModelError(
            f"{shown(file)} names {len(labels):,} labels; expected at most {MOST_LABELS:,}: take id2label out"
        )


def _check(key: str, value: Any, file: str) -> None:
    if value is None and key not in _LAYERS:
        return  # a size that follows from others
    if isinstance(value, bool) or not isinstance(value, int):
        written = shown(value, limit=40) if isinstance(value, str | float) else ""
        raise ModelError(
            f"{shown(file)}: {key} is {a_kind(value)}{f' ({written})' if written else ''}; expected a whole number, as "
            "save_pretrained writes it"
        )
    least = 1 if key in _POSITIONS else 0
    if not least <= value <= _MOST[key]:
        # A number of a thousand digits is too long for a message.
        shown_value = f"{value:,}" if value.bit_length() < 128 else f"a number of {value.bit_length():,} bits"
        raise ModelError(
            f"{shown(file)}: {key} is {shown_value}; expected a whole number from {least} to {_MOST[key]:,}: save the "
            "model again"
        )


def _sizes(value: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield every size of a configuration, including those of its parts."""
    for key, inner in value.items():
        if key in _MOST:
            yield key, inner
        elif isinstance(inner, dict) and key not in _NAMES:
            yield from _sizes(inner)
