"""A sample of the rows in which a head is active, drawn by hashes, with what tells its jobs apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.analyses.distribution.drawn_tokens import ids_around, strongest_keys
from headscope.analyses.distribution.kept_rows import KeptRows, Segment, smallest
from headscope.analyses.distribution.row_hashes import row_hashes, segment_keys
from headscope.analyses.distribution.row_values import asked_rows, content, content_tokens
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import KindLayout
from headscope.statistics.accumulator import Accumulator
from headscope.statistics.kept import Declared, State, total

ACTIVE = 0.5
"""A head is active in a row that puts more weight than this off the sink."""
MOST_KEPT, FEWEST_KEPT = 2048, 128
_ROWS_OF_ALL = 1 << 18
BEFORE, AFTER = 6, 3
"""Tokens that are kept on either side of a row's own."""
OUTPUT = 32
"""Numbers that are kept of what a row writes."""
SORTS = ("same id", "after copy", "key punctuation", "key other punctuation")
"""Sorts of keys of which a row has more or fewer to look at: other tokens of its id, those right behind an earlier one,
periods and commas, other punctuation."""
_WEIGHTS_AT_ONCE = 1 << 22
ACTIVE_ROW = np.dtype(
    [
        ("place", np.int32),
        ("hash", np.uint64),
        ("segment", np.int32),
        ("row", np.int32),
        ("key", np.int32),
        ("key_id", np.int32),
        ("weight", np.float32),
        ("after_copy", np.bool_),
        ("row_class", np.uint8),
        ("key_class", np.uint8),
        ("row_starts", np.bool_),
        ("key_starts", np.bool_),
        ("ids", np.int32, BEFORE + 1 + AFTER),
        ("output", np.float32, OUTPUT),
        ("even", np.float32, len(SORTS)),
    ]
)
"""A row: its head, its hash, number of its segment and position there; position, id and weight of its
strongest key off the sink;
whether that stands right behind an earlier copy of the row's token; the `KeyClass` of both, and whether each begins a
word; ids of the tokens around the row; what it writes, NaN where that is not known (`shortened`);
the share of each of `SORTS` among the keys off the sink that it may attend to."""


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

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "statistics", "vectors"})
    merges: ClassVar[str] = "; merge scans of one model only, with one seed"

    def __init__(self, layout: Sequence[KindLayout], *, seed: int = 0, most: int | None = None) -> None:
        self.seed, self.most = seed, rows_for(layout) if most is None else most
        self._keys = np.zeros(0, dtype=np.uint64)
        super().__init__(layout)

    def declare(self) -> Declared:
        """Keep rows by head, and count those that are active."""
        self._first: dict[str, int] = {}
        places = 0
        for part in self.layout:
            self._first[part.kind] = places
            places += part.layers * part.heads
        self._rows = KeptRows(places, most=self.most, row=ACTIVE_ROW)
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
        found = np.zeros(len(item), dtype=_FOUND)
        found["place"], found["hash"] = places[head], hashes[item, head, row]
        found["item"], found["head"], found["at"] = item, head, row
        chosen = smallest(found, most=self.most)
        segments = list(zip(tile.queries.documents, tile.queries.indices, strict=True))
        self._rows.offer(_told(chosen, tile, positions), segments)

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


_FOUND = [("place", np.int32), ("hash", np.uint64), ("item", np.int32), ("head", np.int32), ("at", np.int32)]


def _told(chosen: NDArray[Any], tile: AttentionTile, positions: NDArray[np.int64]) -> NDArray[Any]:
    """Say of chosen rows all that is kept of them.

    Args:
        chosen: `_FOUND`; `at` says which of the tile's rows.
        tile: the tile.
        positions: of the tile's rows in their segments, `[batch, row]`.
    """
    device = tile.weights.device
    item, head, at = (
        torch.from_numpy(chosen[name].astype(np.int64)).to(device) for name in ("item", "head", "at")
    )
    # Off the sink and separators.
    weight, key = strongest_keys(tile, item, head, at, keys=content_tokens(tile.keys))
    row = at + tile.start
    queries, keys = tile.queries, tile.keys
    told = np.zeros(len(chosen), dtype=ACTIVE_ROW)
    told["place"], told["hash"], told["segment"] = chosen["place"], chosen["hash"], chosen["item"]
    told["row"] = positions[chosen["item"], chosen["at"]]
    told["weight"] = weight.float().cpu().numpy()
    told["key"] = keys.positions[item, key].cpu().numpy()
    told["key_id"] = keys.ids[item, key].cpu().numpy()
    told["row_class"] = queries.classes[item, row].cpu().numpy()
    told["key_class"] = keys.classes[item, key].cpu().numpy()
    told["row_starts"] = _starts(queries.word_ids)[item, row].cpu().numpy()
    told["key_starts"] = _starts(keys.word_ids)[item, key].cpu().numpy()
    if tile.square:
        told["after_copy"] = _behind_copies(tile, item, row).gather(1, key[:, None])[:, 0].cpu().numpy()
    told["even"] = _evenly(tile, item, at).float().cpu().numpy()
    told["ids"] = ids_around(queries, item, row, before=BEFORE, after=AFTER).cpu().numpy()
    if tile.vectors is None:
        told["output"] = np.nan
    else:
        told["output"] = shortened(tile.vectors.outputs[item, head, at]).cpu().numpy()
    return told


def _behind_copies(tile: AttentionTile, item: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
    """Return which keys stand right behind an earlier copy of a row's token, `[row, key]`; keys are tokens of rows."""
    queries = tile.queries
    copies = (queries.ids[item] == queries.ids[item, row][:, None]) & queries.valid[item]
    behind = torch.zeros_like(copies)
    behind[:, 1:] = copies[:, :-1]
    return behind & (torch.arange(behind.shape[1], device=row.device) < row[:, None])


def _evenly(tile: AttentionTile, item: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
    """Return which shares of `SORTS` keys have that a row might look at, drawn evenly, `[row, SORTS]`."""
    height, keys = tile.weights.shape[2], tile.keys
    # The heads of a layer share their rows.
    numbers, back = torch.unique(item * height + at, return_inverse=True)
    shares = []
    for own in numbers.split(max(1, _WEIGHTS_AT_ONCE // tile.weights.shape[-1])):
        items, places = own // height, own % height
        classes = keys.classes[items]
        seen = tile.visibility.visible[items, places] & content_tokens(keys)[items]
        other = torch.zeros_like(seen)
        sorts = [other, other, classes == KeyClass.PUNCTUATION, classes == KeyClass.OTHER_PUNCTUATION]
        if tile.square:
            rows = places + tile.start
            sorts[0] = keys.ids[items] == tile.queries.ids[items, rows][:, None]
            sorts[0] &= torch.arange(seen.shape[1], device=rows.device) != rows[:, None]
            sorts[1] = _behind_copies(tile, items, rows)
        counts = torch.stack([(sort & seen).sum(1) for sort in sorts], dim=1)
        shares.append(counts / seen.sum(1, keepdim=True).clamp(min=1))
    return torch.cat(shares)[back]


def shortened(outputs: torch.Tensor) -> torch.Tensor:
    """Return what rows write as so many numbers, `[row, OUTPUT]` float32, whatever the width of a head.

    Of wider heads those along directions drawn once, at right angles to one another, which keep what lies apart apart;
    of narrower ones the numbers themselves, and zeros.

    Args:
        outputs: `sum_j a_ij v_j`, `[row, width]`.
    """
    width = outputs.shape[1]
    if width > OUTPUT:
        return outputs.float() @ _drawn_directions(width).to(outputs.device)
    return torch.nn.functional.pad(outputs.float(), (0, OUTPUT - width))


@cache
def _drawn_directions(width: int) -> torch.Tensor:
    """Return directions at right angles, `[width, OUTPUT]`, the same in every run."""
    drawn = np.random.default_rng(width).normal(size=(width, OUTPUT))
    return torch.from_numpy(np.linalg.qr(drawn)[0]).float()


def _starts(words: torch.Tensor) -> torch.Tensor:
    """Return which tokens are the first of a word, `[batch, position]` bool."""
    starts = words >= 0
    starts[:, 1:] &= words[:, 1:] != words[:, :-1]
    return starts
