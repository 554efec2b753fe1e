"""A sample of rows of the stream, the same for all heads, with the attention of every head in them.

The rows with the smallest hashes that fit into a bound are kept.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses.explanation.row_block import Integers, Singles
from headscope.analyses.explanation.row_context import Tokens, kept_fields
from headscope.attention.output_norms import norm_shares
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.segment import SegmentInfo
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.kept import Declared, State
from headscope.statistics.sums.row_selection import row_hashes, segment_keys

MOST_ROWS = 2000
MOST_BYTES = 128 << 20
"""Most bytes of attention that are kept for a kind: with many heads or long rows, fewer rows are kept."""
_MEASURES = 2
_OF_TOKENS = ("ids", "classes", "word_ids")
_LARGEST = int(np.iinfo(np.uint64).max)
Segment = tuple[str, int]
RowKey = tuple[int, str, int, int]
"""Hash, document, index of the segment, position."""


@dataclass(frozen=True)
class KeptSegment:
    """The tokens of both axes of an input, the same object in self-attention, and the annotation of its words."""

    queries: Tokens
    keys: Tokens
    fields: Mapping[str, object]


class KeptRows:
    """The rows of a kind of attention with the smallest hashes, each with the attention of every head.

    Rows are kept in the order of their hashes as long as their attention fits into the bound. The sample therefore
    depends neither on the order of the rows nor on the division of the corpus.

    Args:
        cells: number of layers, and number of heads in a layer.
        most: largest number of rows.
        bound: largest number of bytes of attention.

    Attributes:
        rows: attention of each row, `[measure, layer, head, key + 1]`, by weight and by norm. NaN where the key is not
            visible, and where norms are not known; the last key is the learned sink, NaN where there is none.
        segments: inputs of the rows.
        limit: hash of the first row that did not fit. No row from this hash on is kept; otherwise a shorter row with a
            larger hash could be kept.
    """

    def __init__(self, cells: tuple[int, int], *, most: int = MOST_ROWS, bound: int = MOST_BYTES) -> None:
        self.cells, self.most, self.bound = cells, most, bound
        self.rows: dict[RowKey, Singles] = {}
        self.segments: dict[Segment, KeptSegment] = {}
        self.limit = _LARGEST

    @property
    def _n_keys(self) -> dict[RowKey, int]:
        """The number of keys of each row."""
        return {row: attention.shape[-1] - 1 for row, attention in self.rows.items()}

    def admit(self, candidates: Mapping[RowKey, int]) -> list[RowKey]:
        """Add the candidates that belong to the sample, drop the rows that no longer do, and return the new rows.

        Args:
            candidates: number of keys of each candidate row.
        """
        n_keys = {**self._n_keys, **candidates}
        bytes_of_key = _MEASURES * 4 * self.cells[0] * self.cells[1]
        order = sorted(row for row in n_keys if row[0] < self.limit)
        sizes = np.cumsum([(n_keys[row] + 1) * bytes_of_key for row in order], dtype=np.float64)
        number = min(self.most, int(np.searchsorted(sizes, self.bound, side="right")))
        admitted = set(order[:number])
        if number < len(order):
            self.limit = order[number][0]
        fresh = [row for row in candidates if row in admitted and row not in self.rows]
        self.rows = {row: attention for row, attention in self.rows.items() if row in admitted}
        for row in fresh:
            self.rows[row] = np.full((_MEASURES, *self.cells, candidates[row] + 1), np.nan, dtype=np.float32)
        used = {row[1:3] for row in self.rows}
        self.segments = {name: segment for name, segment in self.segments.items() if name in used}
        return fresh

    def merge(self, other: "KeptRows") -> None:
        """Add the rows of another sample."""
        self.limit = min(self.limit, other.limit)
        for row in self.admit(other._n_keys):
            self.rows[row] = other.rows[row]
            self.segments[row[1:3]] = other.segments[row[1:3]]

    def state(self) -> State:
        """Return the rows in the order of their hashes, and the segments in the order of their names."""
        order, names, n_keys = sorted(self.rows), sorted(self.segments), self._n_keys
        numbers = {name: number for number, name in enumerate(names)}
        segments = [self.segments[name] for name in names]
        square = [segment.queries is segment.keys for segment in segments]
        sides = [side for each in segments for side in (each.queries, each.keys)]
        about = {"names": names, "square": square, "fields": [dict(each.fields) for each in segments]}
        counts = {
            "segment": [numbers[row[1:3]] for row in order],
            "row": [row[3] for row in order],
            "keys": [n_keys[row] for row in order],
            "lengths": [len(side) for side in sides],
        }
        return {
            "limit": np.array(self.limit, dtype=np.uint64),
            "hash": np.array([row[0] for row in order], dtype=np.uint64),
            **{name: np.array(values, dtype=np.int32) for name, values in counts.items()},
            "attention": _joined([self.rows[row].reshape(-1) for row in order], np.float32),
            **{name: _joined([getattr(side, name) for side in sides], np.int64) for name in _OF_TOKENS},
            "about": np.frombuffer(json.dumps(about).encode(), dtype=np.uint8).copy(),
        }

    def restore(self, state: Mapping[str, NDArray[np.generic]]) -> None:
        """Restore the rows and segments from the arrays returned by `state()`."""
        self.limit = int(state["limit"])
        if not len(state["hash"]):
            return
        about = json.loads(bytes(state["about"]))
        ends = np.cumsum(state["lengths"])[:-1]
        columns = zip(*(np.split(state[name], ends) for name in _OF_TOKENS), strict=True)
        sides = [Tokens(**dict(zip(_OF_TOKENS, values, strict=True))) for values in columns]
        names: list[Segment] = [(document, index) for document, index in about["names"]]
        for at, (name, square, fields) in enumerate(zip(names, about["square"], about["fields"], strict=True)):
            queries = sides[2 * at]
            self.segments[name] = KeptSegment(queries, queries if square else sides[2 * at + 1], fields)
        ends = np.cumsum((state["keys"].astype(np.int64) + 1) * _MEASURES * self.cells[0] * self.cells[1])[:-1]
        of_rows = (state[name].tolist() for name in ("hash", "segment", "row"))
        for attention, hash_, segment, position in zip(np.split(state["attention"], ends), *of_rows, strict=True):
            self.rows[hash_, *names[segment], position] = np.array(attention).reshape(_MEASURES, *self.cells, -1)


def _joined(parts: Sequence[NDArray[np.generic]], dtype: type) -> NDArray[np.generic]:
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype=dtype)


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
    rows: Integers
    attention: Singles


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
        limits = {"most": self.most, "bound": self.bound}
        return {f"rows.{part.kind}": KeptRows((part.layers, part.heads), **limits) for part in self.layout}

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        self._admitted = {}  # of each kind
        self._fields = {(segment.document, segment.index): segment.fields for segment in batch.segments}

    def update(self, tile: AttentionTile) -> None:
        """Keep the attention of a layer in a tile's sampled rows."""
        kept = self.kept(tile.kind)
        if tile.kind not in self._admitted:
            self._admitted[tile.kind] = self._admit(tile, kept)
        for item, rows in enumerate(self._admitted[tile.kind]):
            if rows:
                self._keep(tile, item, rows, kept)

    def positions(self, queries: SegmentInfo, item: int) -> Integers:
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

    def kept(self, kind: str) -> KeptRows:
        """Return the store of a kind of attention."""
        store = self.stores[f"rows.{kind}"]
        assert isinstance(store, KeptRows)
        return store

    def compute(self) -> dict[str, list[SampledRows]]:
        """Return the sampled rows of each input, by kind, in the order of documents."""
        return {part.kind: list(_by_segment(self.kept(part.kind))) for part in self.layout}


def _by_segment(kept: KeptRows) -> Iterator[SampledRows]:
    in_order = sorted(kept.rows, key=lambda row: row[1:])
    for (document, index), of_segment in groupby(in_order, key=lambda row: row[1:3]):
        rows = list(of_segment)
        attention = np.stack([kept.rows[row] for row in rows], axis=3)
        positions = np.array([row[3] for row in rows])
        yield SampledRows(document, index, kept.segments[document, index], positions, attention)


def tokens_of(info: SegmentInfo, item: int) -> Tokens:
    """Return the tokens of an input of a batch, without its padding."""
    valid = info.valid[item]
    return Tokens(**{name: getattr(info, name)[item][valid].cpu().numpy() for name in _OF_TOKENS})
