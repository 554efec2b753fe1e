"""The JSON format, version 1, in which attention reaches a page, a notebook and the explorer.

```
{"schema": "headscope.attention", "version": 1, "title": str, "model": str, "largest_error": float,
 "kinds": [{"kind", "layers", "heads", "head_labels", "queries": AXIS, "keys": AXIS or null, "causal", "roles",
            "maps": [LAYER ...] or absent, "written": WRITTEN or absent,
            "neuron": {"width", "scaling", "softcap", "layers": [NEURON ...]} or null, "no_neuron": str or null}]}
AXIS   {"tokens", "words", "word_text", "segment_b", "generated", "special", "unknown", and where there is
       one "sink", "words_note"}
LAYER  {"encoding": "base64" or "deflate-raw+base64", "data"}: see `quantize.write_weights`
WRITTEN like LAYER: see `written_bytes`
NEURON LAYER with "parts": {"bias": shape or null, "mask": bool}, "groups", "scaling", "softcap": see `neuron_bytes`
```

Layers and heads are labels, from 1. A reader refuses another version.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import AttentionError
from headscope.views.attention_snapshot import AttentionSnapshot, Axis, KindMaps
from headscope.views.kept_layers import NeuronLayer, WrittenNorms
from headscope.views.quantize import filled, largest_error, write_weights
from headscope.visible import titled

SCHEMA = "headscope.attention"
VERSION = 1
_LARGEST_HALF = float(np.finfo(np.float16).max)
MOST_WEIGHTS = 1 << 27
"""One byte per weight, and a third more as text: browsers cannot open a page of half a gigabyte."""


def payload(
    view: AttentionSnapshot,
    *,
    maps: bool = True,
    neuron: bool = True,
    compress: bool = True,
    layers: Layers | None = None,
) -> dict[str, Any]:
    """Return the data that a page needs to draw a view, ready for `json_text`.

    Args:
        view: the attention of one input.
        maps: True to include the weights; the explorer requests them layer by layer.
        neuron: True to include queries and keys, if they are known: several times the bytes of the weights.
        compress: True to deflate arrays; readers then need `DecompressionStream("deflate-raw")`.
        layers: result of `layers_of` for the view, if it has been computed already.

    Raises:
        AttentionError: there are more weights than a page holds, or queries or keys are too large for half precision.
    """
    weights = sum(kind.weights.size for kind in view.kinds)
    if maps and weights > MOST_WEIGHTS:
        raise AttentionError(
            f"the view would hold {weights:,} weights, and a page holds at most {MOST_WEIGHTS:,}; give a shorter text, "
            "or fewer layers and heads (include_layers, include_heads)"
        )
    layers = layers or layers_of(view)
    kinds = []
    for kind, maps_of_kind in zip(view.kinds, layers.maps):
        fields = _kind(kind)
        if maps:
            fields["maps"] = [_packed(layer, compress=compress) for layer in maps_of_kind]
        if kind.written is not None and (written := written_bytes(kind.written)):
            fields["written"] = _packed(written, compress=compress)
        if neuron and kind.neuron:
            fields["neuron"] = _neuron(kind.neuron, compress=compress)
        kinds.append(fields)
    return {
        "schema": SCHEMA,
        "version": VERSION,
        "title": titled(view.title),
        "model": titled(view.model) if view.model else "",
        "largest_error": layers.largest_error,
        "kinds": kinds,
    }


@dataclass(frozen=True, eq=False)
class Layers:
    """All maps of a view as bytes, `[kind][layer]`, written by `write_weights`; the largest error of a weight."""

    maps: tuple[tuple[bytes, ...], ...]
    largest_error: float


def layers_of(view: AttentionSnapshot) -> Layers:
    """Return the bytes of every layer, and the largest error of a weight that is read from them."""
    kinds, errors = [], [0.0]
    for kind in view.kinds:
        layers = []
        for weights in kind.weights:
            layers.append(write_weights(weights))
            errors.append(largest_error(weights, layers[-1]))
        kinds.append(tuple(layers))
    return Layers(tuple(kinds), _rounded_up(max(errors)))


def neuron_bytes(layer: NeuronLayer) -> bytes:
    """Return the parts of one layer's scores as bytes, each part padded to a multiple of 4.

    Queries, little-endian float16 `[head, query, width]`; keys `[group, key, width]`; the position bias
    `[head or 1, query, key]`; the mask, uint8 `[query, key]`, 1 for a visible key. Bias and mask only if present.

    Raises:
        AttentionError: a number exceeds 65,504, the largest in half precision.
    """
    parts = [_half(layer.queries), _half(layer.keys)]
    if layer.bias is not None:
        parts.append(_half(layer.bias))
    if layer.visible is not None:
        parts.append(layer.visible.astype(np.uint8).tobytes())
    return b"".join(filled(part) for part in parts)


def written_bytes(written: WrittenNorms) -> bytes:
    """Return the output norms of heads, little-endian float16: `keys`, then `rows`, padded to a multiple of 4.

    Empty if a number exceeds 65,504, the largest in half precision.
    """
    numbers = np.concatenate([written.keys.ravel(), written.rows.ravel()])
    if not float(numbers.max(initial=0.0)) <= _LARGEST_HALF:
        return b""
    return filled(numbers.astype("<f2").tobytes())


def neuron_parts(layer: NeuronLayer) -> dict[str, Any]:
    """Return the description of a layer that a reader of `neuron_bytes` needs, ready for JSON."""
    return {
        "parts": {"bias": None if layer.bias is None else list(layer.bias.shape), "mask": layer.visible is not None},
        "groups": list(layer.groups),
        "scaling": layer.scaling,
        "softcap": layer.softcap,
    }


def _kind(kind: KindMaps) -> dict[str, Any]:
    n_heads = kind.weights.shape[1]
    return {
        "kind": kind.kind,
        "layers": list(kind.layers),
        "heads": n_heads,
        "head_labels": None if kind.heads == tuple(range(1, n_heads + 1)) else list(kind.heads),
        "queries": _axis(kind.queries),
        "keys": None if kind.keys is None else _axis(kind.keys),
        "causal": kind.causal,
        "roles": [list(row) for row in kind.roles] or None,
        "neuron": None,
        "no_neuron": kind.no_neuron,
    }


def _axis(axis: Axis) -> dict[str, Any]:
    return {
        "tokens": [titled(token) for token in axis.tokens],
        "words": list(axis.words) or [None] * len(axis),
        "word_text": [titled(word) for word in axis.word_text],
        "segment_b": axis.segment_b,
        "generated": axis.generated,
        "special": list(axis.special),
        "unknown": list(axis.unknown),
        **({} if axis.sink is None else {"sink": axis.sink}),
        **({"words_note": axis.words_note} if axis.words_note else {}),
    }


def _neuron(layers: Sequence[NeuronLayer], *, compress: bool) -> dict[str, Any]:
    """Return the layers' parts; scaling and soft-cap of the kind are null if they differ between layers."""
    scaling, softcap = {layer.scaling for layer in layers}, {layer.softcap for layer in layers}
    return {
        "width": layers[0].queries.shape[2],
        "scaling": scaling.pop() if len(scaling) == 1 else None,
        "softcap": softcap.pop() if len(softcap) == 1 else None,
        "layers": [{**_packed(neuron_bytes(layer), compress=compress), **neuron_parts(layer)} for layer in layers],
    }


def _packed(content: bytes, *, compress: bool) -> dict[str, str]:
    if compress:
        # Bytes of neighboring keys have little in common; Huffman coding alone (Z_FILTERED) compresses them best.
        deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, zlib.DEF_MEM_LEVEL, zlib.Z_FILTERED)
        content = deflate.compress(content) + deflate.flush()
    return {
        "encoding": "deflate-raw+base64" if compress else "base64",
        "data": base64.b64encode(content).decode("ascii"),
    }


def _half(values: NDArray[np.float32]) -> bytes:
    most = float(np.abs(values).max(initial=0.0))
    if not most <= _LARGEST_HALF:
        raise AttentionError(
            f"queries, keys or biases reach {most:.3g}, and the neuron view holds at most 65,504 (half precision); "
            "look at another view of this model"
        )
    return values.astype("<f2").tobytes()


def _rounded_up(error: float) -> float:
    """Round up to three digits, never below the error: a page states it as an upper bound."""
    if error == 0:
        return 0.0
    step = 10.0 ** (math.floor(math.log10(error)) - 2)
    return float(f"{math.ceil(error / step) * step:.3g}")
