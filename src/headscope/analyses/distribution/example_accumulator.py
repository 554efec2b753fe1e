"""Rows of every strength as examples: of each bin of a head those with the smallest hashes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses.distribution.hash_sample import (
    AFTER,
    BEFORE,
    NO_KEY,
    PADDING,
    ROW,
    HashSample,
    Segment,
    smallest,
)
from headscope.analyses.distribution.row_hashes import row_hashes, segment_keys
from headscope.analyses.distribution.row_measures import BINS, MEASURES
from headscope.analyses.distribution.row_tokens import ids_around, strongest_keys
from headscope.analyses.distribution.row_values import content_rows, non_sink_attention
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.accumulator import Accumulator
from headscope.statistics.kept import Declared, State

MOST_KEPT = 4
"""Rows of each bin."""
STRENGTHS = ("output_norm", "non_sink")
"""What says how strong a row is: how much it writes; where that is not known, its non-sink attention."""


@dataclass(frozen=True)
class ExampleResult:
    """What was kept of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        rows: of `ROW`, by head, bin and hash; `segment` counts within `segments`.
        layer, head: of each row, from 0.
        strength: place of its measure in `STRENGTHS`.
        bins: the bin of its value.
        segments: document and index of each segment.
    """

    kind: str
    rows: NDArray[Any]
    layer: NDArray[np.int64]
    head: NDArray[np.int64]
    strength: NDArray[np.int64]
    bins: NDArray[np.int64]
    segments: Sequence[Segment]


class ExampleAccumulator(Accumulator):
    """Keeps a few rows of each bin of a head's strength, drawn by hashes.

    A row has its position, its strongest key, and the ids of the tokens around it. A head has at most 512 rows, 50 KiB;
    as heads use few bins, about a tenth of that.

    Args:
        layout: the kinds of attention and their sizes.
        seed: of the hashes.
        most: number of rows kept of each bin.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "statistics", "written"})
    merges: ClassVar[str] = "; merge scans of one model only, with one seed"

    def __init__(self, layout: Sequence[KindLayout], *, seed: int = 0, most: int = MOST_KEPT) -> None:
        self.seed, self.most = seed, most
        self._keys = np.zeros(0, dtype=np.uint64)
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare the sample of rows by head and bin."""
        self._first: dict[str, int] = {}
        cells = 0
        for part in self.layout:
            self._first[part.kind] = cells
            cells += part.layers * part.heads * len(STRENGTHS) * BINS
        self._examples = HashSample(cells, most=self.most)
        return {"examples": self._examples}

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        names = zip(batch.info.documents, batch.info.indices, strict=True)
        self._keys = segment_keys(names, seed=self.seed)

    def update(self, tile: AttentionTile) -> None:
        """Offer a tile's rows."""
        name = STRENGTHS[0] if tile.written is not None else STRENGTHS[1]
        values = tile.written.outputs.double() if tile.written is not None else non_sink_attention(tile)
        is_content = content_rows(tile)[:, None].expand_as(values).cpu().numpy()
        heads = values.shape[1]
        part = next(part for part in self.layout if part.kind == tile.kind)
        first = self._first[tile.kind] + tile.layer * part.heads * len(STRENGTHS) * BINS
        first_cells = first + (np.arange(heads) * len(STRENGTHS) + STRENGTHS.index(name))[:, None] * BINS
        cells = first_cells + MEASURES[name].bins(values).cpu().numpy()
        positions = tile.queries.positions[:, tile.rows].cpu().numpy()
        hashes = row_hashes(self._keys, positions, kind=tile.kind, layer=tile.layer, heads=heads)
        item, head, row = np.nonzero(is_content & (hashes < self._examples.least[cells]))
        if not len(item):
            return
        rows = np.zeros(
            len(item), dtype=[*_CELL_AND_HASH, ("item", np.int32), ("head", np.int32), ("at", np.int32)]
        )
        rows["cell"], rows["hash"] = cells[item, head, row], hashes[item, head, row]
        rows["item"], rows["head"], rows["at"] = item, head, row
        smallest_hashes = smallest(rows, most=self.most)
        segments = list(zip(tile.queries.documents, tile.queries.indices, strict=True))
        self._examples.offer(_row_facts(smallest_hashes, tile, values, positions), segments)

    def compute(self) -> tuple[ExampleResult, ...]:
        """Return the sample of each kind of attention."""
        sample, segments = self._examples.rows()
        results = []
        for part in self.layout:
            first, number = self._first[part.kind], part.layers * part.heads * len(STRENGTHS) * BINS
            rows = sample[(sample["cell"] >= first) & (sample["cell"] < first + number)]
            shape = (part.layers, part.heads, len(STRENGTHS), BINS)
            layer, head, strength, bins = np.unravel_index(rows["cell"] - first, shape)
            results.append(ExampleResult(part.kind, rows, layer, head, strength, bins, segments))
        return tuple(results)

    def settings(self) -> State:
        """Return the seed and how many rows are kept."""
        return {"examples.rules": np.array([self.seed, self.most])}

    @classmethod
    def with_settings(
        cls, layout: Sequence[KindLayout], settings: Mapping[str, NDArray[Any]]
    ) -> "ExampleAccumulator":
        """Make an empty one with these rules."""
        seed, most = (int(number) for number in settings["examples.rules"])
        return cls(layout, seed=seed, most=most)

    def described(self) -> str:
        """Return the layout and the seed."""
        return f"{self.layout} with seed {self.seed}"


_CELL_AND_HASH = [("cell", np.int64), ("hash", np.uint64)]


def _row_facts(
    tile_rows: NDArray[Any], tile: AttentionTile, values: torch.Tensor, positions: NDArray[np.int64]
) -> NDArray[Any]:
    """Return all that is kept of some rows of a tile.

    Args:
        tile_rows: `cell`, `hash`, `item`, `head`, and `at`: which of the tile's rows.
        tile: the tile.
        values: strength of each row, `[batch, head, row]`.
        positions: of the tile's rows in their segments, `[batch, row]`.
    """
    device = tile.weights.device
    item, head, at = (
        torch.from_numpy(tile_rows[name].astype(np.int64)).to(device) for name in ("item", "head", "at")
    )
    facts = np.zeros(len(tile_rows), dtype=ROW)
    facts["cell"], facts["hash"], facts["segment"] = tile_rows["cell"], tile_rows["hash"], tile_rows["item"]
    facts["row"] = positions[tile_rows["item"], tile_rows["at"]]
    facts["value"] = values[item, head, at].double().cpu().numpy()
    weight, key = _strongest(tile, item, head, at)
    facts["weight"] = weight.float().cpu().numpy()
    of_sink = key < 0
    known = key.clamp(min=0)
    facts["key"] = torch.where(of_sink, NO_KEY, tile.keys.positions[item, known]).cpu().numpy()
    facts["key_id"] = torch.where(of_sink, PADDING, tile.keys.ids[item, known]).cpu().numpy()
    around = ids_around(tile.queries, item, at + tile.start, before=BEFORE, after=AFTER)
    facts["ids"] = around.cpu().numpy()
    return facts


def _strongest(
    tile: AttentionTile, item: torch.Tensor, head: torch.Tensor, at: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest weight of each row and the position of its key: the leftmost, -1 for a learned sink."""
    weight, key = strongest_keys(tile, item, head, at, keys=tile.keys.valid)
    if tile.sink is None:
        return weight, key
    sink = tile.sink[item, head, at].to(weight.dtype)
    return torch.maximum(sink, weight), torch.where(sink > weight, -1, key)
