"""The head with which the head view opens: the one whose lines are most specific to this text."""

from __future__ import annotations

import numpy as np

from headscope.views.snapshot.attention_snapshot import KindMaps

_NEAR = 1
"""Keys up to this distance in tokens are ignored: attention to them is similar in every text."""


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
