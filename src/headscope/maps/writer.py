"""Save the attention of a scan: a consumer of tiles that writes a folder of maps."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.tile import AttentionTile
from headscope.attention.word_attention import axis_of, word_level
from headscope.encoding.batching import Batch
from headscope.encoding.segment import SegmentInfo
from headscope.maps.index import MapEntry, MapsFolder, Tokens

_TORCH_DTYPES = {"float16": torch.float16, "float32": torch.float32}


class MapsWriter:
    """Write every segment's maps, `[layer, head, query, key]` for each kind, without padding: an accumulator of a scan.

    A batch's layers are all kept in memory, because a segment's layers are stored together.

    Args:
        folder: folder that is written; `store` and `word_level` of its index determine the format of the maps.
        names: turns token ids into the tokenizer's names for them.
    """

    needs: frozenset[str] = frozenset({"weights"})
    span: str = "rows"

    def __init__(self, folder: MapsFolder, *, names: Callable[[list[int]], list[str]]) -> None:
        self.folder, index = folder, folder.index
        self.names = names
        self._layers = {part.kind: part.layers for part in index.layout}
        self._behind_encoder = "encoder" in self._layers and "decoder" in self._layers
        self._pooling = index.word_level
        self._store = _TORCH_DTYPES[index.store]
        self._reset()

    def _reset(self) -> None:
        self._maps: dict[str, list[NDArray[Any]]] = {}
        self._visible: dict[str, list[NDArray[np.bool_]]] = {}
        self._seen: dict[int, tuple[object, NDArray[np.bool_]]] = {}
        self._decoder: SegmentInfo | None = None

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        self._reset()

    def update(self, tile: AttentionTile) -> None:
        """Copy a tile's rows into their segments' maps."""
        if self._behind_encoder and tile.kind != "encoder":
            self._decoder = tile.queries
        weights, rows, keys = self._block(tile)
        block = weights.to(self._store).cpu().numpy()
        visible_keys = self._visible_block(tile)
        at, columns = rows.cpu().numpy(), keys.cpu().numpy()
        if tile.kind not in self._maps:
            self._allocate(tile, heads=block.shape[1])
        for item, (first_row, column) in enumerate(zip(at, columns)):
            row = _run(first_row >= 0)
            key = _run(column)
            if row.stop == row.start:
                continue
            into = slice(first_row[row.start], first_row[row.stop - 1] + 1)
            self._maps[tile.kind][item][tile.layer, :, into] = block[item][:, row, key]
            self._visible[tile.kind][item][tile.layer, into] = visible_keys[item][row, key]

    def end(self, batch: Batch) -> None:
        """Write the batch's segments to the folder."""
        for item, segment in enumerate(batch.segments):
            self.folder.add(
                MapEntry(
                    document=segment.document,
                    index=segment.index,
                    input=self._tokens(batch.info, item),
                    decoder=None if self._decoder is None else self._tokens(self._decoder, item),
                    token_types=segment.token_types.tolist(),
                    words=list(segment.words),
                    shortened=bool(segment.shortened),
                    fields=dict(segment.fields),
                ),
                {kind: maps[item] for kind, maps in self._maps.items()},
                {kind: visible[item] for kind, visible in self._visible.items()},
            )
        self._reset()

    def _block(self, tile: AttentionTile) -> tuple[Tensor, Tensor, Tensor]:
        """Return weights, the position of each of their rows in its segment (-1: padding), and which keys are valid."""
        if self._pooling is None:
            return tile.weights, tile.queries.positions[:, tile.rows], tile.keys.valid
        words = self._to_words(tile, tile.weights, pooling=self._pooling)
        whole = axis_of(tile.queries)
        places = whole.places[:, tile.rows].gather(1, words.queries.leaders)
        return words.weights, places.masked_fill(~words.queries.valid, -1), words.keys.valid

    def _to_words(self, tile: AttentionTile, weights: Tensor, *, pooling: str) -> Any:
        return word_level(
            weights,
            tile.queries.word_ids[:, tile.rows],
            valid=tile.row_valid,
            key_word_ids=tile.keys.word_ids,
            key_valid=tile.keys.valid,
            pooling=pooling,
        )

    def _visible_block(self, tile: AttentionTile) -> NDArray[np.bool_]:
        """Return the keys that each row may attend to, read once for all layers that share a mask."""
        visibility = tile.visibility
        if id(visibility) not in self._seen:
            visible = visibility.visible
            if self._pooling is not None:  # a word sees another if one of its pieces sees one of the other's
                words = self._to_words(tile, visible[:, None].float(), pooling="mean")
                visible = words.weights[:, 0] > 0
            # The tile's own object is kept alive, so that its id is not reused.
            self._seen[id(visibility)] = (visibility, visible.cpu().numpy())
        return self._seen[id(visibility)][1]

    def _allocate(self, tile: AttentionTile, *, heads: int) -> None:
        """Allocate a kind's maps, with the batch's true lengths."""
        layers, dtype = self._layers[tile.kind], self.folder.dtype
        sizes = list(zip(self._counts(tile.queries), self._counts(tile.keys)))
        self._maps[tile.kind] = [np.zeros((layers, heads, *size), dtype=dtype) for size in sizes]
        self._visible[tile.kind] = [np.zeros((layers, *size), dtype=bool) for size in sizes]

    def _counts(self, info: SegmentInfo) -> list[int]:
        if self._pooling is None:
            counts: list[int] = info.lengths.tolist()
            return counts
        words: list[int] = axis_of(info).on_host.valid.sum(1).tolist()
        return words

    def _tokens(self, info: SegmentInfo, item: int) -> Tokens:
        valid = info.valid[item]
        ids: list[int] = info.ids[item][valid].tolist()
        return Tokens(
            tokens=self.names(ids),
            ids=ids,
            classes=info.classes[item][valid].tolist(),
            word_ids=info.word_ids[item][valid].tolist(),
        )


def _run(chosen: NDArray[np.bool_]) -> slice:
    """Return the run of chosen positions, which are contiguous: padding is on one side only."""
    places = np.flatnonzero(chosen)
    return slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, 0)
