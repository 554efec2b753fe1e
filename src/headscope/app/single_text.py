"""A model's attention on one text: a labeled array between tokens or words, and views in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
import xarray as xr
from numpy.typing import NDArray

from headscope.attention.words.word_attention import word_level
from headscope.encoding.segment import NO_WORD
from headscope.errors import OptionError
from headscope.models.loading.load_choices import LOADING
from headscope.study.values import LabeledArray
from headscope.views.attention_page import HEIGHT, StaticPage, attention_page
from headscope.views.snapshot.snapshot_of import reader_of, take_snapshot
from headscope.views.state import figure_call, opening
from headscope.views.view_catalog import needs_neuron
from headscope.visible import titled

if TYPE_CHECKING:
    from headscope.views.snapshot.attention_snapshot import Axis, KindMaps


def attention_array(
    model: Any,
    text: str,
    text_b: str | None,
    *,
    layer: Sequence[int] = (),
    head: Sequence[int] = (),
    level: str = "token",
    pooling: str = "mean",
    kind: str | None = None,
    **more: Any,
) -> xr.DataArray:
    """Implement `hs.attention`, with options that were checked.

    Raises:
        HeadscopeError: the model, the text, a layer, a head or a kind is invalid.
    """
    loading = {name: more.pop(name) for name in LOADING if name in more}
    reader = reader_of(model, writes=bool(more.get("generate")), **loading)
    layout = {part.kind: part for part in reader.anatomy.layout}
    chosen = kind or next(iter(layout))
    if chosen not in layout:
        raise OptionError(f"kind {chosen!r} is not known; {reader.loaded.name} has {', '.join(layout)}")
    part = layout[chosen]
    for name, labels, most in (("layer", layer, part.layers), ("head", head, part.heads)):
        if wrong := [label for label in labels if not 1 <= label <= most]:
            raise OptionError(f"there is no {name} {wrong[0]}; expected numbers from 1 to {most}")
    view = reader.view(text, text_b, layers=tuple(layer), **more)
    (maps,) = (each for each in view.kinds if each.kind == chosen)
    # Layers keep the order of the argument; a view has them in ascending order.
    layers, heads = list(layer or maps.layers), list(head or maps.heads)
    rows = [maps.layers.index(label) for label in layers]
    weights = maps.weights[np.ix_(rows, [label - 1 for label in heads])]
    notes = [*view.notes, *(view.words_notes if level == "word" else ())]
    if level == "word":
        weights, queries, keys = _between_words(weights, maps, pooling)
    else:
        queries, keys = list(maps.queries.tokens), list(maps.key_axis.tokens)
    return LabeledArray(
        weights,
        dims=("layer", "head", "query", "key"),
        coords={
            "layer": layers,
            "head": heads,
            "query": list(map(titled, queries)),
            "key": list(map(titled, keys)),
            "query_position": ("query", np.arange(len(queries))),
            "key_position": ("key", np.arange(len(keys))),
        },
        name="attention",
        attrs={"units": "share", "kind": chosen, "level": level, "model": reader.loaded.name}
        | ({"notes": notes} if notes else {}),
    )


def _between_words(
    weights: NDArray[np.float32], maps: KindMaps, pooling: str
) -> tuple[NDArray[np.float32], list[str], list[str]]:
    """Pool the pieces of words, `[layer, head, word, word]`, and return the words of queries and keys."""
    queries, keys = maps.queries, maps.key_axis

    def ids(axis: Axis) -> torch.Tensor:
        words = axis.words or (None,) * len(axis)
        row = torch.tensor([NO_WORD if word is None else word for word in words])
        return row.expand(len(weights), -1)

    joined = word_level(
        torch.from_numpy(np.ascontiguousarray(weights)), ids(queries), key_word_ids=ids(keys), pooling=pooling
    )
    return joined.weights.numpy(), _said(queries, joined.queries), _said(keys, joined.keys)


def _said(axis: Axis, words: Any) -> list[str]:
    """Return the text at each position: a word as it was typed, else the token."""
    return [
        axis.tokens[leader] if word == NO_WORD else axis.word_text[word]
        for word, leader in zip(words.words[0].tolist(), words.leaders[0].tolist(), strict=True)
    ]


def view_of(
    name: str,
    text: str | None,
    text_b: str | None,
    *,
    model: Any,
    kind: str | None = None,
    layer: int | None = None,
    heads: Sequence[int] = (),
    words: bool = False,
    state: str | None = None,
    height: int = HEIGHT,
    static: bool = False,
    **snapshot_options: Any,
) -> Any:
    """Return a view by its name, with the arguments of `hs.head_view`, as an object that a notebook displays."""
    view = take_snapshot(model, text, text_b, neuron=needs_neuron(name) or None, **snapshot_options)
    if state is None:
        state = opening(view, name, kind=kind, layer=layer, heads=heads, words=words)
    call = figure_call(text, text_b, model=model, **snapshot_options)
    if not static:
        try:
            from headscope.app.widget import AttentionWidget
        except ImportError:
            pass
        else:
            return AttentionWidget(view, state=state, height=height, call=call)
    return StaticPage(attention_page(view, state=state, call=call), title=view.title, height=height)
