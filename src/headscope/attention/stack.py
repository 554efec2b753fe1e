"""The same rows in every layer of a kind, kept until the batch ends, so that layers can be compared."""

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import pad

from headscope.attention.tile import AttentionTile
from headscope.encoding.segment import sent
from headscope.models.anatomy import KindLayout

SEGMENT_LIMIT = 64 << 20
"""Maximum bytes of float32 weights that are kept of a segment, over all layers and heads of a kind."""
COMPARED_LIMIT = 1_200_000_000
"""Maximum number of weights at which pairs of heads are compared in a segment, if `FEWEST_COMPARED` rows remain."""
FEWEST_COMPARED = 16


@dataclass(frozen=True, kw_only=True)
class Stack:
    """Rows of one segment in every layer of a kind, without padding.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        item: index of the segment in the batch.
        rows: number of rows of the segment, read or not.
        layers: weights of the rows that are read, `[head, row, key]`, one tensor per layer; if a layer of the kind has
            a learned sink, it is the last key in every layer (0 in the layers without one).
    """

    kind: str
    item: int
    rows: int
    layers: tuple[Tensor, ...]


@dataclass(frozen=True)
class RowDraw:
    """The choice of rows of a segment that are read: all, or a seeded sample if a segment is too large to keep.

    The choice depends only on the segment and the seed.

    Attributes:
        layout: the kinds of attention and their sizes.
        seed: seed of the random draw.
        limit: maximum bytes of a segment's weights of a kind, over all layers.
    """

    layout: tuple[KindLayout, ...]
    seed: int = 0
    limit: int = SEGMENT_LIMIT

    def number(self, kind: str, rows: int, keys: int) -> int:
        """Return the number of rows that are read of `rows` rows: at least two, so that their spread can be estimated.

        Comparisons grow with the square of the number of heads: with 1,024 heads, 16 rows of a segment are read.
        Samples of more than 16 rows are a multiple of 16, because 16 rows are compared at once.
        """
        heads = next(part.layers * part.heads for part in self.layout if part.kind == kind)
        fitting = max(2, self.limit // (4 * heads * keys))
        compared = COMPARED_LIMIT // max(1, heads * (heads - 1) // 2 * keys)
        if min(fitting, compared) >= rows:
            return rows
        compared = max(FEWEST_COMPARED, compared - compared % FEWEST_COMPARED)
        return min(rows, fitting, compared)

    def rows(self, kind: str, document: str, index: int, rows: int, keys: int) -> NDArray[np.int64] | None:
        """Return the rows of a segment that are read, in order; None for all."""
        number = self.number(kind, rows, keys)
        if number == rows:
            return None
        digest = blake2b(f"{self.seed}/{index}/{document}".encode(), digest_size=8).digest()
        generator = np.random.default_rng(int.from_bytes(digest, "little"))
        return np.sort(generator.choice(rows, number, replace=False))

    def bytes_of(self, tokens: int) -> int:
        """Return the approximate bytes that are kept of a segment with `tokens` tokens, over all kinds."""
        return sum(
            4 * part.layers * part.heads * self.number(part.kind, tokens, tokens) * tokens for part in self.layout
        )


class RowStack:
    """Collect the drawn rows of every layer from a batch's tiles.

    Args:
        draw: the draw of the rows.

    Attributes:
        held_bytes: bytes of the weights in memory.
    """

    def __init__(self, draw: RowDraw) -> None:
        self.draw = draw
        self.held_bytes = 0
        self._segments: dict[str, list[_PaddedSegment]] = {}
        self._parts: dict[tuple[str, int], dict[int, list[Tensor]]] = {}

    def add(self, tile: AttentionTile) -> None:
        """Add the drawn rows of a tile, without padding rows and padding keys."""
        if tile.kind not in self._segments:
            self._segments[tile.kind] = self._locate_segments(tile)
        segments = self._segments[tile.kind]
        # A view of a few rows would keep the whole tile in memory, so rows of a sample are copied.
        sampled = any(segment.drawn is not None for segment in segments)
        for item, segment in enumerate(segments):
            begin, end = max(segment.row, tile.start), min(segment.row + segment.rows, tile.rows.stop)
            if begin >= end:
                continue
            keys = slice(segment.key, segment.key + segment.keys)
            taken = slice(begin - tile.start, end - tile.start)
            weights = tile.weights[item, :, taken, keys]
            if tile.sink is not None:
                weights = torch.cat([weights, tile.sink[item, :, taken, None].to(weights.dtype)], dim=2)
            if segment.drawn is not None:
                at = segment.within(begin - segment.row, end - segment.row)
                weights = weights.index_select(1, at)
            elif sampled and tile.sink is None:
                weights = weights.clone()
            in_memory = weights if sampled or tile.sink is not None else tile.weights[item]
            self.held_bytes += in_memory.numel() * in_memory.element_size()
            self._parts.setdefault((tile.kind, item), {}).setdefault(tile.layer, []).append(weights)

    def stacks(self) -> Iterator[Stack]:
        """Yield the collected rows, kind by kind and segment by segment."""
        for (kind, item), layers in self._parts.items():
            whole = [parts[0] if len(parts) == 1 else torch.cat(parts, dim=1) for _, parts in sorted(layers.items())]
            keys = max(layer.shape[2] for layer in whole)
            yield Stack(
                kind=kind,
                item=item,
                rows=self._segments[kind][item].rows,
                layers=tuple(
                    layer if layer.shape[2] == keys else pad(layer, (0, keys - layer.shape[2])) for layer in whole
                ),
            )

    def _locate_segments(self, tile: AttentionTile) -> list["_PaddedSegment"]:
        """Return the position of each segment of the batch in the tiles of a kind, and draw its rows."""
        queries, keys = tile.queries.on_host, tile.keys.on_host
        sides = [each for side in (queries, keys) for each in (side.valid.long().argmax(1), side.lengths)]
        known = torch.stack(sides, dim=1).numpy().tolist()
        drawn = [
            self.draw.rows(tile.kind, document, index, rows, columns)
            for document, index, (_, rows, _, columns) in zip(queries.documents, queries.indices, known, strict=True)
        ]
        on_device = iter(_copied([each for each in drawn if each is not None], tile.weights.device))
        return [
            _PaddedSegment(row, rows, key, columns, rows_read, None if rows_read is None else next(on_device))
            for (row, rows, key, columns), rows_read in zip(known, drawn, strict=True)
        ]


def _copied(drawn: list[NDArray[np.int64]], device: torch.device) -> tuple[Tensor, ...]:
    """Copy the row numbers of several segments to a device, in a single transfer."""
    if not drawn:
        return ()
    whole = sent(torch.from_numpy(np.concatenate(drawn)), device)
    parts: tuple[Tensor, ...] = torch.split(whole, [len(each) for each in drawn])
    return parts


@dataclass(frozen=True)
class _PaddedSegment:
    """The position of a segment in the padded batch, and its rows that are read.

    Attributes:
        row, rows: first row of the segment, and number of its rows.
        key, keys: first key of the segment, and number of its keys.
        drawn: numbers of the rows that are read, from 0, ascending; None if all are read.
        on_device: the same on the device of the weights.
    """

    row: int
    rows: int
    key: int
    keys: int
    drawn: NDArray[np.int64] | None
    on_device: Tensor | None

    def within(self, begin: int, end: int) -> Tensor:
        """Return the drawn rows among some rows of the segment, counted from the first of them, on the device."""
        assert self.drawn is not None
        assert self.on_device is not None
        first, stop = np.searchsorted(self.drawn, (begin, end)).tolist()
        return self.on_device[first:stop] - begin
