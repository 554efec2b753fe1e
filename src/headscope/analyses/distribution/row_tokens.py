"""The tokens around sampled rows, and their strongest keys."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.tile import AttentionTile
from headscope.encoding.segment import SegmentInfo
from headscope.examples.excerpts import Excerpt, WantedExcerpt
from headscope.prepare.prepared_run import Run
from headscope.statistics.sums.hash_sample import SegmentName

PADDING, NO_KEY = -1, -1
"""The id beyond the ends of an input, and the key of a learned sink."""
_WEIGHTS_AT_ONCE = 1 << 22


def ids_around(info: SegmentInfo, item: Tensor, at: Tensor, *, before: int, after: int) -> Tensor:
    """Return the ids of tokens and of their neighbors, `[token, before + 1 + after]`.

    Args:
        info: the axis of the tokens.
        item, at: index in the batch, and position on the axis, `[token]`.
        before, after: number of neighbors; positions beyond the ends of an input have the id `PADDING`.
    """
    around = at[:, None] + torch.arange(-before, after + 1, device=at.device)
    inside = around.clamp(0, info.ids.shape[1] - 1)
    there = (around == inside) & info.valid[item[:, None], inside]
    return torch.where(there, info.ids[item[:, None], inside], PADDING)


def strongest_keys(
    tile: AttentionTile, item: Tensor, head: Tensor, at: Tensor, *, keys: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the largest weight of each row and the position of its key, the leftmost if several; `[row]` both.

    Args:
        tile: the tile.
        item, head, at: index in the batch, head, and row of the tile, `[row]`.
        keys: True for keys that are considered, `[batch, key]` bool.
    """
    weights, positions = [], []
    step = max(1, _WEIGHTS_AT_ONCE // tile.weights.shape[-1])
    for begin in range(0, len(item), step):
        chunk = tuple(each[begin : begin + step] for each in (item, head, at))
        lines = tile.weights[chunk].masked_fill(~keys[chunk[0]], -1.0)
        strongest = lines.argmax(-1)
        weights.append(lines.gather(1, strongest[:, None])[:, 0])
        positions.append(strongest)
    return torch.cat(weights), torch.cat(positions)


def excerpt_row(run: Run, row: Any, segments: Sequence[SegmentName], *, kind: str, before: int) -> dict[str, Any]:
    """Return a sampled row with the words around it, in the columns of `statistics.tables.columns.excerpt`.

    Args:
        run: run with the tokens' texts.
        row: row with `segment`, `row`, `key` (`NO_KEY` for a learned sink), `key_id`, `weight` and `ids`.
        segments: the inputs of the sample.
        kind: kind of attention.
        before: number of `ids` before the row's token.
    """
    document, segment = segments[int(row["segment"])]
    excerpt = _excerpt_of(row, WantedExcerpt(kind, 1, 1, "", 1, 0.0, document, segment), before=before)
    words, keys, _ = run.excerpt_words(excerpt)
    return {
        "document": document,
        "segment": segment,
        "row": int(row["row"]),
        "key": int(row["key"]) if keys else None,
        "weight": float(row["weight"]),
        "start": excerpt.start,
        "tokens": words,
        "continues_word": run.joined(excerpt),
        "key_token": keys[0] if keys else None,
    }


def _excerpt_of(row: Any, wanted: WantedExcerpt, *, before: int) -> Excerpt:
    ids: NDArray[np.int64] = row["ids"].astype(np.int64)
    there = np.flatnonzero(ids != PADDING)
    positions = int(row["row"]) - before + there
    on_token = int(row["key"]) != NO_KEY
    columns, keys = (np.array([row[name]] if on_token else [], dtype=np.int64) for name in ("key", "key_id"))
    return Excerpt(
        wanted=wanted,
        rows=positions,
        columns=columns,
        queries=ids[there],
        keys=keys,
        weights=np.full((len(there), len(keys)), row["weight"], dtype=np.float32),
        start=int(positions[0]),
    )
