"""Saved attention maps as a source of tiles, so that everything that reads a model also reads them."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open

from headscope.attention.anatomy import KindLayout
from headscope.attention.maps_index import MapEntry, MapsIndex, Mask, Shard, default_mask, read_index
from headscope.attention.maps_tokens import info_of, padded, rows_of, segment_of
from headscope.attention.maps_writer import MapsWriter
from headscope.attention.source import TILE_LIMIT, TileConsumer
from headscope.attention.tile import AttentionTile
from headscope.attention.visibility import Visibility
from headscope.encoding.batching import Batch
from headscope.encoding.segment import SegmentInfo
from headscope.errors import InputError

__all__ = ["MapsSource", "MapsWriter"]

_COPY = "copy the whole folder again, or extract the maps again"


class MapsSource:
    """Stream saved maps as tiles, a layer of a few segments at a time.

    Where maps are by word, a tile's tokens are words: a word of one piece keeps its token's id and class, a
    longer one has its first piece's id and class `OTHER`.

    Args:
        folder: as `MapsWriter` made it.
        batch_size: segments in a batch at most; fewer where their maps are large.
        tile_limit: weights in a tile at most, if a batch has more than one segment.

    Attributes:
        index: everything but the weights.
        layout: the kinds of attention and their sizes.

    Raises:
        InputError: no index, one of another version, or a damaged one.
    """

    def __init__(self, folder: str | Path, *, batch_size: int = 16, tile_limit: int = TILE_LIMIT) -> None:
        self.folder = Path(folder)
        self.index: MapsIndex = read_index(self.folder)
        self.layout: tuple[KindLayout, ...] = self.index.layout
        self.batch_size = batch_size
        self.tile_limit = tile_limit
        self._trusted: set[int] = set()

    def only(self, places: Sequence[int]) -> "MapsSource":
        """Return a source of some entries, by their place in `index.entries`."""
        chosen = MapsSource.__new__(MapsSource)
        chosen.__dict__.update(self.__dict__)
        chosen.index = replace(self.index, entries=tuple(self.index.entries[place] for place in places))
        return chosen

    def maps(self, entry: MapEntry) -> dict[str, NDArray[Any]]:
        """Return a segment's maps as they are stored, for each kind `[layer, head, query, key]`.

        Raises:
            InputError: a file is missing or is not what was written.
        """
        with ExitStack() as stack:
            file = self._open(entry.shard, stack)
            return {part.kind: self._tensor(file, entry, part)[:] for part in self.layout}

    def run(self, consumer: TileConsumer, *, need_weights: bool, need_statistics: bool = True) -> None:
        """Feed every batch to the consumer; see `TileSource`. Tiles always have weights.

        Raises:
            InputError: a file is missing or is not what was written.
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
            if group and (
                len(group) >= self.batch_size or (len(group) + 1) * heads * widest**2 > self.tile_limit
            ):
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
        segments = tuple(segment_of(entry, rows) for entry, rows in zip(entries, inputs))
        main = info_of(segments, [rows.classes for rows in inputs], [rows.word_ids for rows in inputs])
        behind = main
        if decoders:
            shifted = [
                replace(segment, ids=np.array(rows.ids, dtype=np.int64))
                for segment, rows in zip(segments, decoders)
            ]
            behind = info_of(
                shifted, [rows.classes for rows in decoders], [rows.word_ids for rows in decoders]
            )
        types = padded([segment.token_types for segment in segments], 0)
        batch = Batch(segments=segments, token_types=types, info=main)
        consumer.begin(batch)
        with ExitStack() as stack:
            shards = {entry.shard: entry.shard for entry in entries}
            files = {number: self._open(number, stack) for number in shards}
            for part in self.layout:
                queries = main if part.kind == "encoder" or not decoders else behind
                keys = behind if part.kind == "decoder" and decoders else main
                tensors = [self._tensor(files[entry.shard], entry, part) for entry in entries]
                shared: dict[tuple[int | None, ...], Visibility] = {}
                for layer in range(part.layers):
                    numbers = tuple(
                        entry.masks[part.kind][layer] if part.kind in entry.masks else None
                        for entry in entries
                    )
                    if numbers not in shared:
                        shared[numbers] = self._visibility(part.kind, numbers, queries, keys)
                    weights = torch.zeros(len(entries), part.heads, queries.ids.shape[1], keys.ids.shape[1])
                    for item, tensor in enumerate(tensors):
                        own = torch.from_numpy(tensor[layer].astype(np.float32))
                        weights[item, :, : own.shape[1], : own.shape[2]] = own
                    consumer.update(
                        AttentionTile(
                            kind=part.kind,
                            layer=layer,
                            start=0,
                            queries=queries,
                            keys=keys,
                            visibility=shared[numbers],
                            groups=tuple(range(part.heads)),
                            given_weights=weights,
                        )
                    )
        consumer.end(batch)

    def _visibility(
        self, kind: str, numbers: tuple[int | None, ...], queries: SegmentInfo, keys: SegmentInfo
    ) -> Visibility:
        visible = torch.zeros(len(numbers), queries.ids.shape[1], keys.ids.shape[1], dtype=torch.bool)
        for item, number in enumerate(numbers):
            rows, columns = int(queries.lengths[item]), int(keys.lengths[item])
            mask = (
                default_mask(kind, rows, columns) if number is None else self._mask(self.index.masks[number])
            )
            visible[item, :rows, :columns] = torch.from_numpy(mask)
        return Visibility(visible=visible, keys=keys, start=0, square=kind != "cross")

    def _mask(self, mask: Mask) -> NDArray[np.bool_]:
        with ExitStack() as stack:
            bits = self._open(mask.shard, stack).get_tensor(mask.name)
        return np.unpackbits(bits, count=mask.rows * mask.keys).reshape(mask.rows, mask.keys).astype(bool)

    def _tensor(self, file: Any, entry: MapEntry, part: KindLayout) -> Any:
        """Return a segment's stored maps of a kind, to be read layer by layer."""
        by_word = self.index.word_level is not None
        rows, keys = (
            len(rows_of(side, by_word=by_word)) for side in (entry.queries(part.kind), entry.keys(part.kind))
        )
        expected = [part.layers, part.heads, rows, keys]
        name = f"{entry.name}.{part.kind}"
        found = file.get_slice(name).get_shape() if name in file.keys() else None  # noqa: SIM118
        if found != expected:
            raise InputError(
                f"{self.folder}: the {part.kind} maps of segment {entry.index + 1} of document {entry.document} "
                f"have shape {found}, expected {expected} [layers, heads, queries, keys]; {_COPY}"
            )
        return file.get_slice(name)

    def _open(self, number: int, stack: ExitStack) -> Any:
        shard = self.index.shards[number]
        path = self.folder / shard.file
        if number not in self._trusted:
            _check(path, shard)
            self._trusted.add(number)
        return stack.enter_context(safe_open(str(path), framework="numpy"))


def _check(path: Path, shard: Shard) -> None:
    """Refuse a file that is not, byte for byte, what was written."""
    if not path.is_file():
        raise InputError(f"{path} is missing; {_COPY}")
    size = path.stat().st_size
    if size != shard.bytes:
        raise InputError(f"{path} has {size:,} bytes, expected {shard.bytes:,}; {_COPY}")
    digest = blake2b(digest_size=16)
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    if digest.hexdigest() != shard.hash:
        raise InputError(f"{path} is not the file that was written (its hash differs); {_COPY}")
