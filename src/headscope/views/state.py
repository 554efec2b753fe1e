"""The initial state of a view, as a part of an address, and the Python call that draws a view again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from headscope.errors import OptionError
from headscope.views.attention_snapshot import AttentionSnapshot, KindMaps
from headscope.views.bundle import offered, view_names
from headscope.visible import titled

_NEAR = 1
"""Keys up to this distance in tokens are ignored: attention to them is similar in every text."""
_ONE_HEAD_FIRST = "head"
"""The view that opens with a single head: all heads of a layer are too many lines to read."""


def telling_head(maps: KindMaps) -> tuple[int, int] | None:
    """Return the labels of the layer and head with the sharpest attention within the text; None if there is none.

    The score of a head is the mean, over ordinary query tokens, of the largest weight on an ordinary token at least two
    tokens away. Special tokens and neighbors are ignored, because many heads attend to them in every text.
    """
    queries, keys = maps.queries, maps.key_axis
    rows, columns = _ordinary(len(queries), queries.special), _ordinary(len(keys), keys.special)
    if not rows.any() or not columns.any():
        return None
    counted = np.broadcast_to(columns, (len(queries), len(keys))).copy()
    if maps.kind != "cross":
        distance = np.arange(len(queries))[:, None] - np.arange(len(keys))
        counted &= np.abs(distance) > _NEAR
    scores = np.where(counted, maps.weights, 0.0).max(axis=-1)[:, :, rows].mean(axis=-1)
    if not scores.any():
        return None
    layer, head = np.unravel_index(np.argmax(scores), scores.shape)
    return maps.layers[layer], maps.heads[head]


def _ordinary(n: int, special: tuple[int, ...]) -> np.ndarray:
    ordinary = np.ones(n, dtype=bool)
    ordinary[list(special)] = False
    return ordinary


def opening(
    view: AttentionSnapshot,
    name: str,
    *,
    kind: str | None = None,
    layer: int | None = None,
    heads: Sequence[int] = (),
    words: bool = False,
) -> str:
    """Return the state in which a page opens, such as `view=head&layer=2&heads=1,3`.

    Args:
        view: the attention that is drawn.
        name: name of the view.
        kind: kind of attention; the first when None.
        layer: label of the layer; when None the first, or in the head view the layer of the most telling head.
        heads: labels of the heads; when empty all (or the mean or the first, if the view draws one), or in the head
            view the most telling head if no layer is given either.
        words: True to draw words in place of tokens.

    Raises:
        OptionError: the view, kind, layer or head does not exist, or words are unknown.
    """
    drawn = next((view_row for view_row in offered() if view_row.name == name), None)
    if drawn is None:
        raise OptionError(f"view {titled(repr(name))} is not known; choose one of {', '.join(view_names())}")
    shown = _kind(view, kind)
    parts = {"view": name, "kind": shown.kind}
    if name == _ONE_HEAD_FIRST and layer is None and not heads and (telling := telling_head(shown)):
        layer, heads = telling[0], telling[1:]
    if layer is not None:
        parts["layer"] = str(_known(layer, shown.layers, "layer"))
    labels = [_known(head, shown.heads, "head") for head in heads]
    if labels and drawn.draws_several:
        parts["heads"] = ",".join(map(str, sorted(set(labels))))
    elif labels:
        if len(labels) > 1:
            raise OptionError(f"the {name} view draws one head, and {len(labels)} were named; choose one")
        parts["head"] = str(labels[0])
    if words:
        if not (shown.queries.words or shown.key_axis.words):
            raise OptionError("words are not known here, only tokens; leave the word level out")
        parts["level"] = "word"
    if len(view.kinds) == 1:
        del parts["kind"]
    return "&".join(f"{key}={quote(value, safe=',')}" for key, value in parts.items())


def _kind(view: AttentionSnapshot, kind: str | None) -> KindMaps:
    names = [maps.kind for maps in view.kinds]
    if kind is None:
        return view.kinds[0]
    if kind not in names:
        raise OptionError(f"there is no {titled(repr(kind)[1:-1])} attention here; choose one of {', '.join(names)}")
    return view.kinds[names.index(kind)]


def _known(label: int, labels: Sequence[int], what: str) -> int:
    if label not in labels:
        raise OptionError(f"there is no {what} {label} here; choose from {_ranges(labels)}")
    return label


def _ranges(labels: Sequence[int]) -> str:
    """Return 1, 2, 3, 7 as `1-3, 7`."""
    runs: list[list[int]] = []
    for label in sorted(labels):
        if runs and runs[-1][1] == label - 1:
            runs[-1][1] = label
        else:
            runs.append([label, label])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def figure_call(text: str | None = None, text_b: str | None = None, *, model: Any = None, **options: Any) -> str:
    """Return arguments as Python source: literals where possible, otherwise names of the reader's variables.

    Args:
        text: text that the model reads.
        text_b: the second text of a pair.
        model: model argument of the call: a name or folder, None, or an object, which is written as `model`.
        **options: the call's other options; those that are None, empty, 0 or False are omitted.
    """
    parts = []
    name_or_object = str(model) if isinstance(model, Path) else model
    arguments = {"text": text, "text_b": text_b, "model": name_or_object, **options}
    for name, value in arguments.items():
        # The truth value of a tensor is undefined.
        unsaid = value is None or (isinstance(value, str | int | list | tuple) and not value)
        if not unsaid:
            parts.append(f"{name}={_written(name, value)}")
    return ", ".join(parts)


def _written(name: str, value: Any) -> str:
    plain = isinstance(value, str | int | float) or (
        isinstance(value, list | tuple) and all(isinstance(each, str | int) for each in value)
    )
    return repr(value) if plain else name
