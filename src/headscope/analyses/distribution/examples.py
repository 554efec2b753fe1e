"""A sample of rows of every strength by hashes, with their strongest keys and the tokens around them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.distribution.tables import BINS, MEASURES, content_rows, non_sink_attention
from headscope.attention.host_copy import HostCopy
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import SegmentInfo
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.hash_sample import SegmentName
from headscope.statistics.sums.head_row_sample import HEAD_ROW, HeadRowSample
from headscope.statistics.sums.kept import Declared
from headscope.statistics.sums.row_selection import SelectedRows

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


MOST_KEPT = 4
"""Number of rows kept of each bin."""
STRENGTHS = ("output_norm", "non_sink")
"""The measures of a row's strength: its output norm; where that is unknown, its non-sink attention."""

BEFORE, AFTER = 10, 5
"""Number of tokens kept on either side of the row's token."""
ROW = np.dtype(
    [
        *HEAD_ROW,
        ("value", np.float32),
        ("key", np.int32),
        ("weight", np.float32),
        ("key_id", np.int32),
        ("ids", np.int32, BEFORE + 1 + AFTER),
    ]
)
"""A row with its value, the position, weight and id of its strongest key, and the ids of the tokens around it."""


@dataclass(frozen=True)
class ExampleResult:
    """The sample of rows of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        rows: rows of type `ROW`, by head, bin and hash; `segment` is an index in `segments`.
        segments: document and index of each segment.
        layer, head: layer and head of each row, from 0.
        strength: index of its measure in `STRENGTHS`.
        bins: bin of its value.
    """

    kind: str
    rows: NDArray[Any]
    segments: Sequence[SegmentName]
    layer: NDArray[np.int64]
    head: NDArray[np.int64]
    strength: NDArray[np.int64]
    bins: NDArray[np.int64]


class ExampleAccumulator(Accumulator):
    """Keeps a few rows of each bin of a head's strength, drawn by hashes.

    A row has its position, its strongest key, and the ids of the tokens around it. A head has at most 512 rows, 50 KiB;
    as heads use few bins, about a tenth of that.

    Args:
        layout: the kinds of attention and their sizes.
        seed: seed of the hashes.
        most: number of rows kept of each bin.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "statistics", "written"})
    parameters: ClassVar[tuple[str, ...]] = ("seed", "most")

    def __init__(self, layout: Sequence[KindLayout], *, seed: int = 0, most: int = MOST_KEPT) -> None:
        self.seed, self.most = seed, most
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare the sample of rows by head and bin."""
        self._examples = HeadRowSample(self.layout, ROW, seed=self.seed, most=self.most, cells=(len(STRENGTHS), BINS))
        return {"examples": self._examples}

    def update(self, tile: AttentionTile) -> None:
        """Offer a tile's rows to the sample."""
        name = STRENGTHS[0] if tile.written is not None else STRENGTHS[1]
        values = tile.written.outputs.double() if tile.written is not None else non_sink_attention(tile)
        content = content_rows(tile)[:, None].expand_as(values)
        rows = self._examples.select(tile, content, STRENGTHS.index(name) * BINS + MEASURES[name].bins(values))
        if len(rows.at):
            self._examples.hold(tile, rows, _facts(tile, rows, values))

    def hand_over(self, copy: HostCopy) -> None:
        """Have the rows of the batch copied to the host."""
        self._examples.hand_over(copy)

    def end(self, batch: Batch) -> None:
        """Add the rows of the batch to the sample."""
        self._examples.take()

    def compute(self) -> tuple[ExampleResult, ...]:
        """Return the sample of each kind of attention."""
        of_kinds = [(part.kind, *self._examples.of_kind(part.kind)) for part in self.layout]
        return tuple(ExampleResult(kind, rows.items, rows.segments, *cells) for kind, rows, cells in of_kinds)


def _facts(tile: AttentionTile, rows: SelectedRows, values: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the fields of some rows of a tile, by the names of `ROW`.

    Args:
        tile: the tile.
        rows: rows of the tile.
        values: strength of each row, `[batch, head, row]`.
    """
    item, head, at = rows.item, rows.head, rows.at
    weight, key = _strongest(tile, item, head, at)
    of_sink, known = key < 0, key.clamp(min=0)
    return {
        "value": values[item, head, at].double(),
        "weight": weight.float(),
        "key": torch.where(of_sink, NO_KEY, tile.keys.positions[item, known]),
        "key_id": torch.where(of_sink, PADDING, tile.keys.ids[item, known]),
        "ids": ids_around(tile.queries, item, at + tile.start, before=BEFORE, after=AFTER),
    }


def _strongest(
    tile: AttentionTile, item: torch.Tensor, head: torch.Tensor, at: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest weight of each row and the position of its key: the leftmost, -1 for a learned sink."""
    weight, key = strongest_keys(tile, item, head, at, keys=tile.keys.valid)
    if tile.sink is None:
        return weight, key
    sink = tile.sink[item, head, at].to(weight.dtype)
    return torch.maximum(sink, weight), torch.where(sink > weight, -1, key)
