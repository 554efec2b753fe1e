"""A sample of rows of the stream, the same for all heads, with the attention of every head in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses.explanation.annotation import kept_fields
from headscope.analyses.explanation.kept_rows import MOST_BYTES, MOST_ROWS, KeptRows, KeptSegment, RowKey
from headscope.analyses.explanation.row_context import Tokens
from headscope.attention.tile import AttentionTile
from headscope.attention.vectors.output_norms import norm_shares
from headscope.encoding.batching import Batch
from headscope.encoding.segment import SegmentInfo
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared
from headscope.statistics.sums.row_selection import row_hashes, segment_keys


@dataclass(frozen=True)
class SampledRows:
    """The sampled rows of one input.

    Attributes:
        document, index: document of the input, and index of the input in it.
        segment: tokens of the input.
        rows: positions of the rows among the queries, ascending, `[row]`.
        attention: attention by weight and by norm, `[measure, layer, head, row, key + 1]`; NaN where the key is not
            visible, and where the attention is not known. The last key is the learned sink.
    """

    document: str
    index: int
    segment: KeptSegment
    rows: NDArray[np.int64]
    attention: NDArray[np.float32]


class RowSampleAccumulator(Accumulator):
    """Keeps the rows with the smallest hashes, with the attention of all heads and the annotation of their inputs.

    The rows of all tokens take part, including special tokens, as in the statistics of attention. The number of rows
    that are kept is limited by the bytes of their attention, too.

    Args:
        layout: kinds of attention and their sizes.
        seed: seed of the hashes.
        most: largest number of rows of a kind.
        bound: largest number of bytes of attention of a kind.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "written"})
    parameters: ClassVar[tuple[str, ...]] = ("seed", "most", "bound")
    merges: ClassVar[str] = "; merge scans of one model only, with one seed"

    def __init__(
        self, layout: Sequence[KindLayout], *, seed: int = 0, most: int = MOST_ROWS, bound: int = MOST_BYTES
    ) -> None:
        self.seed, self.most, self.bound = seed, most, bound
        self._admitted: dict[str, list[list[RowKey]]] = {}
        self._fields: dict[tuple[str, int], Mapping[str, Any]] = {}
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare the sample of each kind of attention."""
        return {
            f"rows.{part.kind}": KeptRows((part.layers, part.heads), most=self.most, bound=self.bound)
            for part in self.layout
        }

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        self._admitted = {}
        self._fields = {(segment.document, segment.index): segment.fields for segment in batch.segments}

    def update(self, tile: AttentionTile) -> None:
        """Keep the attention of a layer in a tile's sampled rows."""
        kept = self.kept(tile.kind)
        if tile.kind not in self._admitted:
            self._admitted[tile.kind] = self._admit(tile, kept)
        for item, rows in enumerate(self._admitted[tile.kind]):
            if rows:
                self._keep(tile, item, rows, kept)

    def positions(self, queries: SegmentInfo, item: int) -> NDArray[np.int64]:
        """Return the rows of an input of the batch that may belong to the sample: all of them here."""
        return np.arange(int(queries.lengths[item]))

    def _admit(self, tile: AttentionTile, kept: KeptRows) -> list[list[RowKey]]:
        """Return the rows of each segment of the batch that belong to the sample."""
        queries, keys = tile.queries, tile.keys
        names = list(zip(queries.documents, queries.indices, strict=True))
        hashes_of_segments = segment_keys(names, seed=self.seed)
        candidates: dict[RowKey, int] = {}
        for item, (name, key, number) in enumerate(zip(names, hashes_of_segments, keys.lengths.tolist(), strict=True)):
            positions = self.positions(queries, item)
            hashes = row_hashes(np.array([key]), positions[None], kind=tile.kind, layer=0, heads=1)[0, 0]
            # A segment offers at most as many rows as the sample holds, so that fewer rows have to be sorted.
            order = np.argsort(hashes)[: self.most]
            candidates.update({(int(hashes[at]), *name, int(positions[at])): number for at in order})
        admitted: dict[tuple[str, int], list[RowKey]] = {}
        for row in kept.admit(candidates):
            admitted.setdefault(row[1:3], []).append(row)
        for item, name in enumerate(names):
            if name in admitted:
                of_rows = tokens_of(queries, item)
                of_keys = of_rows if tile.square else tokens_of(keys, item)
                kept.segments[name] = KeptSegment(of_rows, of_keys, kept_fields(self._fields[name]))
        return [admitted.get(name, []) for name in names]

    def _keep(self, tile: AttentionTile, item: int, rows: Sequence[RowKey], kept: KeptRows) -> None:
        queries, keys = tile.queries, tile.keys
        first_row = int(queries.valid[item].long().argmax()) - tile.start
        first_key = int(keys.valid[item].long().argmax())
        inside = [row for row in rows if 0 <= first_row + row[3] < tile.visibility.rows]
        if not inside:
            return
        at = torch.tensor([first_row + row[3] for row in inside], device=tile.weights.device)
        columns = slice(first_key, first_key + int(keys.lengths[item]))
        visible = tile.visibility.visible[item, at][:, columns]
        # The batch's padding is cut off: the last digit of a sum over keys would depend on it.
        weights = tile.weights[item][:, at][..., columns].masked_fill(~visible, 0.0).contiguous()
        by_measure = [weights.float()]
        if tile.written is not None:
            lengths = tile.written.lengths[item]
            lengths = (lengths[:, at] if lengths.ndim == 3 else lengths)[..., columns]
            by_measure.append(norm_shares(weights[None], lengths[None])[0].float())
        for measure, attention in enumerate(by_measure):
            values = attention.masked_fill(~visible, torch.nan).cpu().numpy()
            for number, row in enumerate(inside):
                kept.rows[row][measure, tile.layer, :, :-1] = values[:, number]
        if tile.sink is not None:
            sink = tile.sink[item][:, at].float().cpu().numpy()
            for number, row in enumerate(inside):
                kept.rows[row][0, tile.layer, :, -1] = sink[:, number]

    def end(self, batch: Batch) -> None:
        """Forget the batch."""
        self._admitted, self._fields = {}, {}

    def kept(self, kind: str) -> KeptRows:
        """Return the store of a kind of attention."""
        store = self.stores[f"rows.{kind}"]
        assert isinstance(store, KeptRows)
        return store

    def compute(self) -> dict[str, list[SampledRows]]:
        """Return the sampled rows of each input, by kind, in the order of documents."""
        return {part.kind: list(_by_segment(self.kept(part.kind))) for part in self.layout}


def _by_segment(kept: KeptRows) -> Sequence[SampledRows]:
    by_segment: dict[tuple[str, int], list[RowKey]] = {}
    for row in kept.rows:
        by_segment.setdefault(row[1:3], []).append(row)
    result = []
    for name in sorted(by_segment):
        rows = sorted(by_segment[name], key=lambda row: row[3])
        attention = np.stack([kept.rows[row] for row in rows], axis=3)
        positions = np.array([row[3] for row in rows])
        result.append(SampledRows(*name, kept.segments[name], positions, attention))
    return result


def tokens_of(info: SegmentInfo, item: int) -> Tokens:
    """Return the tokens of an input of a batch, without its padding."""
    valid = info.valid[item]
    return Tokens(**{name: getattr(info, name)[item][valid].cpu().numpy() for name in ("ids", "classes", "word_ids")})
