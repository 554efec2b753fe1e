"""A sample of the rows in which a head is active, drawn by hashes, with what tells its jobs apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.distribution.kept_rows import KeptRows, Segment, smallest
from headscope.analyses.distribution.row_hashes import row_hashes, segment_keys
from headscope.analyses.distribution.row_values import asked_rows, content
from headscope.analyses.jobs.row_facts import ACTIVE_ROW, FOUND, tell
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.accumulator import Accumulator
from headscope.statistics.kept import Declared, State, total

ACTIVE = 0.5
"""A head is active in a row that puts more weight than this off the sink."""
MOST_KEPT, FEWEST_KEPT = 2048, 128
_ROWS_OF_ALL = 1 << 18


def rows_for(layout: Sequence[KindLayout]) -> int:
    """Return how many rows of a head are kept: 2,048, of more than 128 heads as many as make 262,144 in all.

    Those are 56 MiB, of 1,024 heads as of 128, and up to four times as much while rows are sorted.
    """
    heads = sum(part.layers * part.heads for part in layout)
    return min(MOST_KEPT, max(FEWEST_KEPT, _ROWS_OF_ALL // max(1, heads)))


@dataclass(frozen=True)
class ActiveRows:
    """The sample of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        rows: of `ACTIVE_ROW`, by head and hash; `place` is the head's, `layer * heads + head`, and `segment` counts
            within `segments`.
        active: in how many rows each head is active, `[layer, head]`.
        asked: how many rows there are, special tokens left out.
        segments: document and index of each segment.
    """

    kind: str
    rows: NDArray[Any]
    active: NDArray[np.int64]
    asked: int
    segments: Sequence[Segment]


class ActiveRowAccumulator(Accumulator):
    """Keep of every head those of its active rows that have the smallest hashes.

    A head is active in a row where more than half of the weight lies off the sink and separators; special tokens are
    no rows.

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
        """Keep rows by head, and count those that are active."""
        self._first: dict[str, int] = {}
        places = 0
        for part in self.layout:
            self._first[part.kind] = places
            places += part.layers * part.heads
        self._rows = KeptRows(places, most=self.most, row=self.row)
        return {
            "active": total("layer", "head", dtype=np.int64),
            "asked": total("layer", dtype=np.int64),
            "rows": self._rows,
        }

    def begin(self, batch: Batch) -> None:
        """Start a batch."""
        names = zip(batch.info.documents, batch.info.indices, strict=True)
        self._keys = segment_keys(names, seed=self.seed)

    def update(self, tile: AttentionTile) -> None:
        """Offer a tile's active rows."""
        asked = asked_rows(tile)
        active = ((content(tile) > ACTIVE) & asked[:, None]).cpu().numpy()
        self.add(tile, active=active.sum(-1), asked=asked.sum(-1))
        heads = active.shape[1]
        part = next(part for part in self.layout if part.kind == tile.kind)
        places = self._first[tile.kind] + tile.layer * part.heads + np.arange(heads)
        positions = tile.queries.positions[:, tile.rows].cpu().numpy()
        hashes = row_hashes(self._keys, positions, kind=tile.kind, layer=tile.layer, heads=heads)
        item, head, row = np.nonzero(active & (hashes < self._rows.least[places][:, None]))
        if not len(item):
            return
        found = np.zeros(len(item), dtype=FOUND)
        found["place"], found["hash"] = places[head], hashes[item, head, row]
        found["item"], found["head"], found["at"] = item, head, row
        chosen = smallest(found, most=self.most)
        segments = list(zip(tile.queries.documents, tile.queries.indices, strict=True))
        self._rows.offer(self._told(chosen, tile, positions), segments)

    def _told(self, chosen: NDArray[Any], tile: AttentionTile, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Say of chosen rows all that is kept of them.

        Args:
            chosen: `FOUND`; `at` says which of the tile's rows.
            tile: the tile.
            positions: of the tile's rows in their segments, `[batch, row]`.
        """
        told = np.zeros(len(chosen), dtype=self.row)
        told["place"], told["hash"], told["segment"] = chosen["place"], chosen["hash"], chosen["item"]
        told["row"] = positions[chosen["item"], chosen["at"]]
        tell(told, chosen, tile, tags=self._tags)
        return told

    def compute(self) -> tuple[ActiveRows, ...]:
        """Return what is kept of each kind."""
        kept, segments = self._rows.rows()
        results = []
        for part in self.layout:
            first, number = self._first[part.kind], part.layers * part.heads
            own = kept[(kept["place"] >= first) & (kept["place"] < first + number)].copy()
            own["place"] -= first
            active, asked = (self.totals[f"{name}.{part.kind}"] for name in ("active", "asked"))
            results.append(ActiveRows(part.kind, own, active.copy(), int(asked[0]), segments))
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
