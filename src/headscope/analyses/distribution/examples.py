"""Examples of rows of every strength: a sample by hashes, and from it the rows of each decile of a head."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from headscope.analyses.distribution.row_tokens import NO_KEY, PADDING, excerpt_row, ids_around, strongest_keys
from headscope.analyses.distribution.sums import DECILES, DistributionResult
from headscope.analyses.distribution.tables import BINS, EXAMPLES, MEASURES, NAMES, content_rows, non_sink_attention
from headscope.attention.host_copy import HostCopy
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.prepare.prepared_run import Run
from headscope.statistics.sums.accumulator import Accumulator
from headscope.statistics.sums.hash_sample import SegmentName
from headscope.statistics.sums.head_row_sample import HEAD_ROW, HeadRowSample
from headscope.statistics.sums.kept import Declared
from headscope.statistics.sums.row_selection import SelectedRows

SHOWN = 3
"""Number of rows shown of each decile of a head."""
MOST_KEPT = 4
"""Number of rows kept of each bin."""
STRENGTHS = ("output_norm", "non_sink")
"""The measures of a row's strength: its output norm; where that is unknown, its non-sink attention."""

BEFORE, AFTER = 10, 5
"""Number of tokens kept on either side of the row's token."""
ROW = np.dtype(
    [
        *HEAD_ROW,
        ("value", np.float32),
        ("key", np.int32),
        ("weight", np.float32),
        ("key_id", np.int32),
        ("ids", np.int32, BEFORE + 1 + AFTER),
    ]
)
"""A row with its value, the position, weight and id of its strongest key, and the ids of the tokens around it."""


@dataclass(frozen=True)
class ExampleResult:
    """The sample of rows of one kind of attention.

    Attributes:
        kind: `encoder`, `decoder` or `cross`.
        rows: rows of type `ROW`, by head, bin and hash; `segment` is an index in `segments`.
        segments: document and index of each segment.
        layer, head: layer and head of each row, from 0.
        strength: index of its measure in `STRENGTHS`.
        bins: bin of its value.
    """

    kind: str
    rows: NDArray[Any]
    segments: Sequence[SegmentName]
    layer: NDArray[np.int64]
    head: NDArray[np.int64]
    strength: NDArray[np.int64]
    bins: NDArray[np.int64]


class ExampleAccumulator(Accumulator):
    """Keeps a few rows of each bin of a head's strength, drawn by hashes.

    A row has its position, its strongest key, and the ids of the tokens around it. A head has at most 512 rows, 50 KiB;
    as heads use few bins, about a tenth of that.

    Args:
        layout: the kinds of attention and their sizes.
        seed: seed of the hashes.
        most: number of rows kept of each bin.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"weights", "statistics", "written"})
    parameters: ClassVar[tuple[str, ...]] = ("seed", "most")

    def __init__(self, layout: Sequence[KindLayout], *, seed: int = 0, most: int = MOST_KEPT) -> None:
        self.seed, self.most = seed, most
        super().__init__(layout)

    def declare(self) -> Declared:
        """Declare the sample of rows by head and bin."""
        self._examples = HeadRowSample(self.layout, ROW, seed=self.seed, most=self.most, cells=(len(STRENGTHS), BINS))
        return {"examples": self._examples}

    def update(self, tile: AttentionTile) -> None:
        """Offer a tile's rows to the sample."""
        name = STRENGTHS[0] if tile.written is not None else STRENGTHS[1]
        values = tile.written.outputs.double() if tile.written is not None else non_sink_attention(tile)
        content = content_rows(tile)[:, None].expand_as(values)
        rows = self._examples.select(tile, content, STRENGTHS.index(name) * BINS + MEASURES[name].bins(values))
        if len(rows.at):
            self._examples.hold(tile, rows, _facts(tile, rows, values))

    def hand_over(self, copy: HostCopy) -> None:
        """Have the rows of the batch copied to the host."""
        self._examples.hand_over(copy)

    def end(self, batch: Batch) -> None:
        """Add the rows of the batch to the sample."""
        self._examples.take()

    def compute(self) -> tuple[ExampleResult, ...]:
        """Return the sample of each kind of attention."""
        of_kinds = [(part.kind, *self._examples.of_kind(part.kind)) for part in self.layout]
        return tuple(ExampleResult(kind, rows.items, rows.segments, *cells) for kind, rows, cells in of_kinds)


def _facts(tile: AttentionTile, rows: SelectedRows, values: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the fields of some rows of a tile, by the names of `ROW`.

    Args:
        tile: the tile.
        rows: rows of the tile.
        values: strength of each row, `[batch, head, row]`.
    """
    item, head, at = rows.item, rows.head, rows.at
    weight, key = _strongest(tile, item, head, at)
    of_sink, known = key < 0, key.clamp(min=0)
    return {
        "value": values[item, head, at].double(),
        "weight": weight.float(),
        "key": torch.where(of_sink, NO_KEY, tile.keys.positions[item, known]),
        "key_id": torch.where(of_sink, PADDING, tile.keys.ids[item, known]),
        "ids": ids_around(tile.queries, item, at + tile.start, before=BEFORE, after=AFTER),
    }


def _strongest(
    tile: AttentionTile, item: torch.Tensor, head: torch.Tensor, at: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the largest weight of each row and the position of its key: the leftmost, -1 for a learned sink."""
    weight, key = strongest_keys(tile, item, head, at, keys=tile.keys.valid)
    if tile.sink is None:
        return weight, key
    sink = tile.sink[item, head, at].to(weight.dtype)
    return torch.maximum(sink, weight), torch.where(sink > weight, -1, key)


@dataclass(frozen=True)
class DecileRow:
    """An example row of a decile of a head's rows.

    Attributes:
        layer, head, decile, rank: 1-based.
        strength: index of its measure in `STRENGTHS`.
        at: index in the result's `rows`.
    """

    layer: int
    head: int
    decile: int
    rank: int
    strength: int
    at: int


def decile_rows(examples: ExampleResult, counted: DistributionResult) -> Iterator[DecileRow]:
    """Yield the rows with the smallest hashes of each decile of a head's rows, by layer, head and decile.

    Each bin keeps its smallest hashes, so these rows are a random sample of the decile. A decile that is narrower than
    its bins may have no row in the sample; then any row of those bins is taken instead.

    Args:
        examples: the sample of rows.
        counted: the distribution over the same text.
    """
    layers, heads = counted.least.shape[:2]
    shares = np.broadcast_to(np.array(DECILES) / 10, (layers, heads, len(DECILES)))
    by_measure = [counted.values(NAMES.index(name)) for name in STRENGTHS]
    cuts_of = [values.quantiles(shares) for values in by_measure]
    bins_of = [values.bins(shares)[0] for values in by_measure]
    cells = examples.layer * heads + examples.head
    begins = np.searchsorted(cells, np.arange(layers * heads + 1))
    for head_index, (begin, end) in enumerate(pairwise(begins.tolist())):
        if begin == end:
            continue
        layer, head = divmod(head_index, heads)
        strength = int(examples.strength[begin])
        cuts = cuts_of[strength][layer, head]
        rows, bins = examples.rows[begin:end], examples.bins[begin:end]
        edges = np.concatenate([[0], bins_of[strength][layer, head], [BINS - 1]])
        decile = np.searchsorted(cuts, rows["value"], side="left")
        for number in range(len(DECILES) + 1):
            pool = np.flatnonzero(decile == number)
            if not len(pool):
                pool = np.flatnonzero((bins >= edges[number]) & (bins <= edges[number + 1]))
            first = pool[np.argsort(rows["hash"][pool], kind="stable")][:SHOWN]
            for rank, at in enumerate(first.tolist()):
                yield DecileRow(layer + 1, head + 1, number + 1, rank + 1, strength, begin + at)


def examples_table(run: Run, examples: Sequence[ExampleResult], counted: Sequence[DistributionResult]) -> pd.DataFrame:
    """Return the examples of every head with the words around them, in the columns of `distribution_examples.parquet`.

    Args:
        run: run with the tokens' texts.
        examples: the sample of each kind of attention.
        counted: the distributions over the same text, kind by kind.
    """
    rows = [
        _row(run, sample, decile_row)
        for sample, counts in zip(examples, counted, strict=True)
        for decile_row in decile_rows(sample, counts)
    ]
    return EXAMPLES.frame(rows)


def _row(run: Run, sample: ExampleResult, decile_row: DecileRow) -> dict[str, Any]:
    row = sample.rows[decile_row.at]
    more = {"kind": sample.kind, "measure": STRENGTHS[decile_row.strength], "value": float(row["value"])}
    return vars(decile_row) | more | excerpt_row(run, row, sample.segments, kind=sample.kind, before=BEFORE)
