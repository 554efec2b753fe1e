"""A sample of the rows in which a head is active, drawn by hashes, with the facts that distinguish its jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.distribution.hash_sample import HashSample, Segment, smallest
from headscope.analyses.distribution.row_hashes import row_hashes, segment_keys
from headscope.analyses.distribution.row_values import content_rows, non_sink_attention
from headscope.analyses.jobs.row_facts import ACTIVE_ROW, TILE_ROW, add_facts
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.accumulator import Accumulator
from headscope.statistics.kept import Declared, State, total

ACTIVE = 0.5
"""A head is active in a row that puts more of its attention than this on non-sink keys."""
MOST_KEPT, FEWEST_KEPT = 2048, 128
_ROWS_OF_ALL = 1 << 18


def rows_for(layout: Sequence[KindLayout]) -> int:
    """Return how many rows of a head are kept: 2,048, or fewer where more than 128 heads share 262,144 rows.

    All rows take 56 MiB for 128 heads as for 1,024, and up to four times as much while they are sorted.
    """
    heads = sum(part.layers * part.heads for part in layout)
    return min(MOST_KEPT, max(FEWEST_KEPT, _ROWS_OF_ALL // max(1, heads)))


@dataclass(frozen=True)
class ActiveRows:
    """The sample of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        rows: of `ACTIVE_ROW`, by head and hash; `cell` is `layer * heads + head`, and `segment` counts within
            `segments`.
        active: number of rows in which each head is active, `[layer, head]`.
        n_rows: number of rows, without those of special tokens.
        segments: document and index of each segment.
    """

    kind: str
    rows: NDArray[Any]
    active: NDArray[np.int64]
    n_rows: int
    segments: Sequence[Segment]


class ActiveRowAccumulator(Accumulator):
    """Keeps the active rows of every head that have the smallest hashes.

    A head is active in a row where the non-sink attention is above 50%. Rows of special
    tokens are left out.

    Args:
        layout: the kinds of attention and their sizes.
        seed: of the hashes.
        most: rows kept of a head; None for as many as `rows_for` says.
    """

    row: ClassVar[np.dtype[Any]] = ACTIVE_ROW
    needs: ClassVar[frozenset[str]] = frozenset({"weights", "statistics", "vectors"})
    merges: ClassVar[str] = "; merge scans of one model only, with one seed"

    def __init__(self, layout: Sequence[KindLayout], *, seed: int = 0, most: int | None = None) -> None:
        self.seed, self.most = seed, rows_for(layout) if most is None else most
        self._keys = np.zeros(0, dtype=np.uint64)
        self._tags: Tensor | None = None
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare the sample of rows by head, and the counts of rows and of active rows."""
        self._first: dict[str, int] = {}
        cells = 0
        for part in self.layout:
            self._first[part.kind] = cells
            cells += part.layers * part.heads
        self._rows = HashSample(cells, most=self.most, row=self.row)
        return {
            "active": total("layer", "head", dtype=np.int64),
            "n_rows": total("layer", dtype=np.int64),
            "rows": self._rows,
        }

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        names = zip(batch.info.documents, batch.info.indices, strict=True)
        self._keys = segment_keys(names, seed=self.seed)

    def update(self, tile: AttentionTile) -> None:
        """Offer a tile's active rows."""
        is_content = content_rows(tile)
        active = ((non_sink_attention(tile) > ACTIVE) & is_content[:, None]).cpu().numpy()
        self.add(tile, active=active.sum(-1), n_rows=is_content.sum(-1))
        heads = active.shape[1]
        part = next(part for part in self.layout if part.kind == tile.kind)
        cells = self._first[tile.kind] + tile.layer * part.heads + np.arange(heads)
        positions = tile.queries.positions[:, tile.rows].cpu().numpy()
        hashes = row_hashes(self._keys, positions, kind=tile.kind, layer=tile.layer, heads=heads)
        item, head, row = np.nonzero(active & (hashes < self._rows.least[cells][:, None]))
        if not len(item):
            return
        candidates = np.zeros(len(item), dtype=TILE_ROW)
        candidates["cell"], candidates["hash"] = cells[head], hashes[item, head, row]
        candidates["item"], candidates["head"], candidates["at"] = item, head, row
        smallest_hashes = smallest(candidates, most=self.most)
        segments = list(zip(tile.queries.documents, tile.queries.indices, strict=True))
        self._rows.offer(self._row_facts(smallest_hashes, tile, positions), segments)

    def _row_facts(
        self, tile_rows: NDArray[Any], tile: AttentionTile, positions: NDArray[np.int64]
    ) -> NDArray[Any]:
        """Return all that is kept of some rows of a tile.

        Args:
            tile_rows: of `TILE_ROW`; `at` is the index of the row in the tile.
            tile: the tile.
            positions: of the tile's rows in their segments, `[batch, row]`.
        """
        facts = np.zeros(len(tile_rows), dtype=self.row)
        facts["cell"], facts["hash"], facts["segment"] = (
            tile_rows["cell"],
            tile_rows["hash"],
            tile_rows["item"],
        )
        facts["row"] = positions[tile_rows["item"], tile_rows["at"]]
        add_facts(facts, tile_rows, tile, tags=self._tags)
        return facts

    def compute(self) -> tuple[ActiveRows, ...]:
        """Return the sample of each kind of attention."""
        sample, segments = self._rows.rows()
        results = []
        for part in self.layout:
            first, number = self._first[part.kind], part.layers * part.heads
            rows = sample[(sample["cell"] >= first) & (sample["cell"] < first + number)].copy()
            rows["cell"] -= first
            active, n_rows = (self.totals[f"{name}.{part.kind}"] for name in ("active", "n_rows"))
            results.append(ActiveRows(part.kind, rows, active.copy(), int(n_rows[0]), segments))
        return tuple(results)

    def settings(self) -> State:
        """Return the seed and how many rows are kept."""
        return {"active_rows.rules": np.array([self.seed, self.most])}

    @classmethod
    def with_settings(
        cls, layout: Sequence[KindLayout], settings: Mapping[str, NDArray[Any]]
    ) -> "ActiveRowAccumulator":
        """Make an empty one with these rules."""
        seed, most = (int(number) for number in settings["active_rows.rules"])
        return cls(layout, seed=seed, most=most)

    def described(self) -> str:
        """Return the layout and the seed."""
        return f"{self.layout} with seed {self.seed}"
