"""Saved attention maps as a source of tiles, so that all code that reads a model can read them, too."""

from collections.abc import Iterator, Sequence, Set
from contextlib import ExitStack
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.attention.head_id import HeadId, head_label
from headscope.attention.model.model_pass import TILE_LIMIT, TileConsumer
from headscope.attention.model.tap import sink_weight
from headscope.attention.row_checks import wrong_row
from headscope.attention.row_statistics import Visibility
from headscope.attention.tile import AttentionTile
from headscope.encoding.segment import SegmentInfo
from headscope.errors import InputError
from headscope.maps.index import MapEntry, MapsIndex, default_mask
from headscope.maps.index_reader import read_index
from headscope.maps.map_shards import MapsShards, padded_rows, rows_of
from headscope.models.anatomy import KindLayout


class MapsSource:
    """Stream saved maps as tiles, one layer of a few segments at a time.

    Where maps are by word, a tile's tokens are words: a word of one piece keeps its token's id and class, a
    longer one has its first piece's id and class `OTHER`.

    Args:
        folder: folder written by `MapsWriter`.
        batch_size: maximum number of segments in a batch; fewer if their maps are large.
        tile_limit: maximum number of weights in a tile, if a batch has more than one segment.

    Attributes:
        index: the contents of the folder except the weights.
        shards: the files with the weights.
        layout: the kinds of attention and their sizes.

    Raises:
        InputError: the index is missing, damaged, or has another version; or a file is missing or damaged.
    """

    def __init__(self, folder: str | Path, *, batch_size: int = 16, tile_limit: int = TILE_LIMIT) -> None:
        self.folder = Path(folder)
        self.index: MapsIndex = read_index(self.folder)
        self.layout: tuple[KindLayout, ...] = self.index.layout
        self.batch_size = batch_size
        self.tile_limit = tile_limit
        self.shards = MapsShards(self.folder, self.index)

    def only(self, places: Sequence[int]) -> "MapsSource":
        """Return a source of some entries, given their positions in `index.entries`."""
        chosen = copy(self)
        chosen.index = replace(self.index, entries=tuple(self.index.entries[index] for index in places))
        return chosen

    def maps(self, entry: MapEntry) -> dict[str, NDArray[Any]]:
        """Return a segment's maps as they are stored, for each kind `[layer, head, query, key]`.

        Raises:
            InputError: a file is not as it was written, or a row is not a distribution over its visible keys.
        """
        by_kind = {}
        with ExitStack() as stack:
            file = self.shards.open(entry.shard, stack)
            for part in self.layout:
                by_kind[part.kind] = self.shards.maps(file, entry, part.kind)[:]
                for layer, layer_maps in enumerate(by_kind[part.kind]):
                    hidden = _hidden(self._mask(entry, part.kind, layer))
                    self._check_rows(layer_maps.astype(np.float32), hidden, entry, part, layer)
        return by_kind

    def run(self, consumer: TileConsumer, needs: Set[str]) -> None:
        """Feed every batch to the consumer; see `TileSource`. Tiles always have weights, but never output norms
        or vectors.

        Raises:
            InputError: a file is not as it was written, or a row is not a distribution over its visible keys.
        """
        for entries in self._batches():
            self._feed(entries, consumer)

    def _batches(self) -> Iterator[list[MapEntry]]:
        """Group consecutive entries, a few at a time, so that a layer of them is one tile."""
        heads = max(part.heads for part in self.layout)
        group: list[MapEntry] = []
        longest = 0
        for entry in self.index.entries:
            length = max(len(entry.input), len(entry.decoder or ()))
            widest = max(longest, length)
            if group and (len(group) >= self.batch_size or (len(group) + 1) * heads * widest**2 > self.tile_limit):
                yield group
                group, widest = [], length
            group.append(entry)
            longest = widest
        if group:
            yield group

    def _feed(self, entries: list[MapEntry], consumer: TileConsumer) -> None:
        by_word = self.index.word_level is not None
        inputs = [rows_of(entry.input, by_word=by_word) for entry in entries]
        decoders = [rows_of(entry.decoder, by_word=by_word) for entry in entries if entry.decoder is not None]
        batch = padded_rows(entries, inputs)
        main = batch.info
        behind = padded_rows(entries, decoders).info if decoders else main
        consumer.begin(batch)
        with ExitStack() as stack:
            files = {number: self.shards.open(number, stack) for number in dict.fromkeys(e.shard for e in entries)}
            for part in self.layout:
                queries = main if part.kind == "encoder" else behind
                keys = behind if part.kind == "decoder" else main
                tensors = [self.shards.maps(files[entry.shard], entry, part.kind) for entry in entries]
                shared: dict[
                    tuple[bool, tuple[int | None, ...]], tuple[Visibility, list[NDArray[np.float32] | None]]
                ] = {}
                for layer in range(part.layers):
                    numbers = tuple(
                        entry.masks[part.kind][layer] if part.kind in entry.masks else None for entry in entries
                    )
                    sink = layer in part.sinks
                    if (sink, numbers) not in shared:
                        masks = [self._mask(entry, part.kind, layer) for entry in entries]
                        visibility = replace(_visibility(part.kind, masks, queries, keys), sink=sink)
                        shared[sink, numbers] = visibility, [*map(_hidden, masks)]
                    visibility, hidden = shared[sink, numbers]
                    weights = torch.zeros(len(entries), part.heads, queries.ids.shape[1], keys.ids.shape[1])
                    for item, tensor in enumerate(tensors):
                        layer_weights = tensor[layer].astype(np.float32)
                        self._check_rows(layer_weights, hidden[item], entries[item], part, layer)
                        weights[item, :, : layer_weights.shape[1], : layer_weights.shape[2]] = torch.from_numpy(
                            layer_weights
                        )
                    consumer.update(
                        AttentionTile(
                            kind=part.kind,
                            layer=layer,
                            start=0,
                            queries=queries,
                            keys=keys,
                            visibility=visibility,
                            groups=tuple(range(part.heads)),
                            given_weights=weights,
                            sink=sink_weight(weights) if sink else None,
                        )
                    )
        consumer.end(batch)

    def _mask(self, entry: MapEntry, kind: str, layer: int) -> NDArray[np.bool_]:
        """Return the keys that each row of a layer may attend to, `[row, key]`."""
        number = entry.masks[kind][layer] if kind in entry.masks else None
        if number is not None:
            return self.shards.mask(self.index.masks[number])
        return default_mask(kind, *self.index.size(entry, kind))

    def _check_rows(
        self,
        weights: NDArray[np.float32],
        hidden: NDArray[np.float32] | None,
        entry: MapEntry,
        part: KindLayout,
        layer: int,
    ) -> None:
        # A learned sink has the weight that is not on tokens.
        if (wrong := wrong_row(weights, hidden=hidden, partly=layer in part.sinks)) is None:
            return
        head, row = wrong.index
        named = HeadId.at(part.kind, layer, head)
        raise InputError(
            f"{self.shards.path(entry.shard)}: row {row + 1} of {part.kind} head "
            f"{head_label(named.layer, named.head)} in segment {entry.index + 1} of document {entry.document} "
            f"{wrong.what}: give attention after the softmax, "
            "or extract the maps again"
        )


def _hidden(mask: NDArray[np.bool_]) -> NDArray[np.float32] | None:
    """Return 1 for the keys that are hidden from a row, or None if there are none."""
    return None if mask.all() else (~mask).astype(np.float32)


def _visibility(kind: str, masks: Sequence[NDArray[np.bool_]], queries: SegmentInfo, keys: SegmentInfo) -> Visibility:
    visible = torch.zeros(len(masks), queries.ids.shape[1], keys.ids.shape[1], dtype=torch.bool)
    for segment_visible, mask in zip(visible, masks):
        segment_visible[: mask.shape[0], : mask.shape[1]] = torch.from_numpy(mask)
    return Visibility.of(visible, keys=keys, start=0, square=kind != "cross")
