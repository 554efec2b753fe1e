"""Attention from any source: one tensor or array per layer, with its tokens; a model is not needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.tokenizer.token_names import named_tokens
from headscope.errors import AttentionError, InputError, OptionError
from headscope.views.attention_snapshot import AttentionSnapshot, Axis, KindMaps
from headscope.views.generated_steps import are_steps, join_steps
from headscope.visible import titled

_NOT_KEPT = (
    "give `outputs.attentions` of a model that was loaded with attn_implementation='eager' and called with "
    "output_attentions=True (other implementations keep no weights)"
)

_MOST_TOKENS = 1 << 20
_TITLE = "Attention"


def raw_view(
    *,
    attention: Any = None,
    tokens: Any = None,
    sentence_b_start: int | None = None,
    encoder_attention: Any = None,
    decoder_attention: Any = None,
    cross_attention: Any = None,
    encoder_tokens: Any = None,
    decoder_tokens: Any = None,
    include_layers: Sequence[int] | None = None,
    include_heads: Sequence[int] | None = None,
    count_from: int = 1,
    readable: bool = True,
) -> AttentionSnapshot:
    """Return a view of attention that was computed elsewhere.

    Either `attention` with `tokens`, or one to three of `encoder_attention`, `decoder_attention` and
    `cross_attention` with the tokens of their sides. Attention is a sequence of one tensor or array a layer,
    `[1, head, query, key]` or `[head, query, key]`, after the softmax; or the attention that `generate` returns for one
    text, whose steps are joined (`join_steps`). Its tokens may include the last generated one, which has no row and is
    dropped.

    Args:
        attention: self-attention.
        tokens: tokens of the self-attention.
        sentence_b_start: first position of the second text of a pair, from 0.
        encoder_attention: self-attention of an encoder.
        decoder_attention: self-attention of a decoder.
        cross_attention: attention from `decoder_tokens` to `encoder_tokens`.
        encoder_tokens: tokens of the encoder.
        decoder_tokens: tokens of the decoder.
        include_layers: the layers to keep; all when None.
        include_heads: the heads to keep; all when None.
        count_from: the number of the first layer and head in the two options above.
        readable: True to remove the marks of word starts (`Ġ`, `▁`, `</w>`) from the tokens.

    Raises:
        AttentionError: the values are not attention weights, or do not fit the tokens.
        InputError: tokens are missing or are not text.
        OptionError: attention is missing, or a layer or head does not exist.
    """
    axis_of = partial(_axis, readable=readable)
    maps_of = partial(_maps, layers=include_layers, heads=include_heads, count_from=count_from)
    parts = {"encoder": encoder_attention, "decoder": decoder_attention, "cross": cross_attention}
    if attention is not None:
        named = [name for name, part in parts.items() if part is not None]
        if named or encoder_tokens is not None or decoder_tokens is not None:
            raise OptionError(
                "attention goes with tokens alone; give encoder_attention, decoder_attention and cross_attention with "
                "encoder_tokens and decoder_tokens instead, or leave them out"
            )
        # Maps without attention to later tokens are those of a decoder.
        attention, read = _joined(attention, "decoder")
        axis = axis_of(tokens, "tokens", "attention", segment_b=sentence_b_start, read=read)
        kind = maps_of("encoder", attention, axis)
        kind = replace(kind, kind="decoder") if kind.causal else kind
        return AttentionSnapshot(title=_TITLE, model="", kinds=(kind,))
    if all(part is None for part in parts.values()):
        raise OptionError(
            "there is no attention to draw; give attention with tokens, or encoder_attention, decoder_attention or "
            "cross_attention with encoder_tokens and decoder_tokens"
        )
    sides = {"encoder": encoder_tokens, "decoder": decoder_tokens}
    kinds = []
    for name, part in parts.items():
        if part is None:
            continue
        part, read = _joined(part, name)
        of_kind = ("decoder", "encoder") if name == "cross" else (name,)
        axes = [
            axis_of(sides[side], f"{side}_tokens", f"{name}_attention", read=read if side == of_kind[0] else None)
            for side in of_kind
        ]
        kinds.append(maps_of(name, part, *axes))
    return AttentionSnapshot(title=_TITLE, model="", kinds=tuple(kinds))


def _joined(attention: Any, kind: str) -> tuple[Any, tuple[int, int] | None]:
    """Return attention as layers; for steps of `generate`, also the number of prompt rows and of all rows."""
    if not are_steps(attention):
        return attention, None
    joined = join_steps(attention, kind=kind, to_array=_layer, not_kept=_NOT_KEPT)
    return joined.layers, (joined.prompt, joined.layers[0].shape[1])


def raw_maps(attention: Any, *, kind: str = "encoder") -> NDArray[np.float32]:
    """Return a sequence of layers as one array, `[layer, head, query, key]`.

    Raises:
        AttentionError: a layer is missing, is not numeric, has more than one input, or the layers differ in shape.
    """
    try:
        layers = list(attention)
    except TypeError:
        raise AttentionError(
            f"{kind} attention is a {type(attention).__name__}; expected a sequence with one tensor or array a layer"
        ) from None
    if not layers or any(layer is None for layer in layers):
        raise AttentionError(f"there are no weights in {kind} attention; {_NOT_KEPT}")
    maps = [_layer(layer, index, kind) for index, layer in enumerate(layers)]
    shapes = {layer.shape for layer in maps}
    if len(shapes) > 1:
        raise AttentionError(
            f"layers of {kind} attention differ in shape ({', '.join(map(str, sorted(shapes)))}); expected the same "
            "heads, queries and keys in every layer"
        )
    return np.stack(maps)


def _layer(layer: Any, index: int, kind: str) -> NDArray[np.float32]:
    if hasattr(layer, "detach"):
        if (lacks := _no_plain_tensor(layer)) is not None:
            raise AttentionError(f"layer {index + 1} of {kind} attention is {lacks}")
        # A torch tensor: numpy cannot convert half precision, another device or a gradient.
        layer = layer.detach().cpu().float().numpy()
    try:
        # Only numbers: numpy would parse text as numbers, and drop the imaginary part with a warning.
        array = np.asarray(layer)
        if array.dtype.kind not in "biuf":
            raise TypeError(f"it holds {array.dtype}")
        with np.errstate(over="ignore"):  # values beyond float32 become infinite, and the check of rows rejects them
            values = array.astype(np.float32)
    except (TypeError, ValueError) as error:
        raise AttentionError(
            f"layer {index + 1} of {kind} attention is not an array of numbers ({titled(str(error))}); expected "
            "[1, head, query, key] or [head, query, key]: the attention of one input, a tensor for each layer"
        ) from None
    if values.ndim == 4 and values.shape[0] == 1:
        values = values[0]
    if values.ndim != 3:
        raise AttentionError(
            f"layer {index + 1} of {kind} attention has the shape {tuple(values.shape)}; expected [1, head, query, "
            "key] or [head, query, key]: the attention of one input, a tensor for each layer"
        )
    return values


def _no_plain_tensor(tensor: Any) -> str | None:
    """Describe a torch tensor that is not a plain array of weights, and the remedy; None for a plain one."""
    if tensor.is_meta:
        return "a tensor without data (on the device meta); run the model with its weights loaded"
    if str(tensor.layout) != "torch.strided":
        return "a sparse tensor; give it with all its zeros, as tensor.to_dense()"
    if tensor.is_complex():
        return "a tensor of complex numbers; expected weights between 0 and 1, after the softmax"
    return None


def _axis(
    tokens: Any,
    name: str,
    attention: str,
    *,
    readable: bool,
    segment_b: int | None = None,
    read: tuple[int, int] | None = None,
) -> Axis:
    if tokens is None:
        raise InputError(f"{attention} needs {name}: expected one token for each row and column of the maps")
    # An iterator of tokens may be infinite.
    listed = list(islice(tokens, _MOST_TOKENS)) if isinstance(tokens, Iterable) else [tokens]
    wrong = [token for token in listed if not isinstance(token, str)]
    if isinstance(tokens, str) or wrong:
        got = "a string" if isinstance(tokens, str) else f"a {type(wrong[0]).__name__} among them"
        raise InputError(
            f"expected {name} as a list of strings, got {got}; tokenizer.convert_ids_to_tokens(ids) gives them"
        )
    prompt, rows = read or (None, len(listed))
    if len(listed) == rows + 1:  # the last generated token
        listed.pop()
    named = named_tokens(listed)
    return Axis(
        tokens=named.tokens if readable else tuple(listed),
        words=named.words,
        word_text=named.text,
        segment_b=segment_b,
        generated=prompt,
        special=named.special,
    )


def _maps(
    kind: str,
    attention: Any,
    queries: Axis,
    keys: Axis | None = None,
    *,
    layers: Sequence[int] | None,
    heads: Sequence[int] | None,
    count_from: int,
) -> KindMaps:
    maps = raw_maps(attention, kind=kind)
    kept_layers = _positions(layers, maps.shape[0], "layer", count_from)
    kept_heads = _positions(heads, maps.shape[1], "head", count_from)
    return KindMaps(
        kind=kind,
        weights=maps[kept_layers][:, kept_heads],
        queries=queries,
        keys=keys,
        layers=tuple(index + 1 for index in kept_layers),
        heads=tuple(index + 1 for index in kept_heads),
    )


def _positions(numbers: Sequence[int] | None, size: int, what: str, count_from: int) -> list[int]:
    """Return the indices of the kept layers or heads, from 0 and ascending."""
    if numbers is None:
        return list(range(size))
    positions = [number - count_from for number in numbers]
    wrong = [number for number, at in zip(numbers, positions) if not 0 <= at < size]
    if wrong or not positions:
        raise OptionError(
            f"include_{what}s names {wrong[0] if wrong else 'none'}; expected {what}s from {count_from} to "
            f"{count_from + size - 1}"
        )
    return sorted(set(positions))
