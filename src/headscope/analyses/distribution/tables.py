"""The measures of a head's rows, with the rows that are counted and the fixed bins of values, and their tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.attention.row_quantities import RowQuantity
from headscope.attention.tile import AttentionTile
from headscope.encoding.segment import sent
from headscope.scans.declarations.head_measures import MeasureLabel
from headscope.statistics.tables.columns import FROM_ONE, NOT_NEGATIVE, PLACE, count, estimate, excerpt, text
from headscope.statistics.tables.table_schema import Column, TableSchema

BINS = 128
"""Largest number of bins of a measure."""
# Relative: a value this little below an edge counts as on it, because batch shapes move float32 values by less.
_ROUNDING = 1e-6
Edges = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class RowMeasure:
    """A measure of rows with its bins, which are narrow where values are dense.

    Attributes:
        name: name in tables.
        label: name in headings.
        meaning: the exact definition, for docs and the glossary.
        unit: unit of the values.
        edges: left edges of the bins, starting from 0, and the nominal end of the last bin, which is open.
        logarithmic: True if the axis of its figure is logarithmic.
    """

    name: str
    label: str
    meaning: str
    unit: str
    edges: Edges
    logarithmic: bool = False

    def bins(self, values: Tensor) -> Tensor:
        """Return the bin of each value, int64; values below 0 by rounding are in the first."""
        inner = _inner_edges(self.name, values.device)
        return torch.bucketize((values.double() * (1 + _ROUNDING)).nan_to_num(0.0).contiguous(), inner, right=True)


def _octaves(first: int, last: int, an_octave: int) -> Edges:
    """Return powers of two from 2^first to 2^last, with `an_octave` steps per doubling."""
    return np.asarray(2.0 ** (first + np.arange((last - first) * an_octave + 1) / an_octave))


def _share_edges() -> Edges:
    """Return bins that halve toward 0 and toward 1, where rows are dense, with 101 of equal width between."""
    ends = np.concatenate([[0.0], _octaves(-18, -6, 1)])
    # Their number is odd, so that 0.5 is not an edge.
    between = np.linspace(ends[-1], 1 - ends[-1], 102)
    return np.concatenate([ends[:-1], between, 1 - ends[-2::-1]])


def _distance_edges() -> Edges:
    """Return three bins per doubling, with narrow ones around small whole numbers, to which positional heads attend."""
    around = {1: range(3, 15), 2: range(4, 12, 2), 3: range(4, 12, 2), 4: (8,), 5: (8,), 6: (8,)}
    narrow = [number + side * 2.0**-power for number, powers in around.items() for power in powers for side in (-1, 1)]
    wide = _octaves(-4, 17, 3)
    whole = np.array(list(around))
    wide = wide[np.abs(wide[:, None] - whole).min(1) > 2.0**-3]
    return np.sort(np.concatenate([[0.0], narrow, wide]))


_EVERY = (
    RowMeasure(
        name="output_norm",
        label="output norm",
        meaning="the norm of the vector that the head adds to the residual stream at the row, |Σ a f|",
        unit="length of a vector of the stream",
        edges=np.concatenate([[0.0], _octaves(-10, 11, 6)]),
        logarithmic=True,
    ),
    RowMeasure(
        name="non_sink",
        label="non-sink attention",
        meaning="weight on neither the first token (cls, bos), nor a separator, nor a learned sink",
        unit="share",
        edges=_share_edges(),
    ),
    RowMeasure(
        name="entropy",
        label="entropy",
        meaning="-sum w ln w",
        unit="nats",
        edges=np.concatenate([[0.0], _octaves(-16, -4, 2), np.arange(1, 103) / 10]),
    ),
    RowMeasure(
        name="distance",
        label="distance",
        meaning="distance in tokens from the attending token to the keys, in either direction: the mean, weighted "
        "by attention",
        unit="tokens",
        edges=_distance_edges(),
        logarithmic=True,
    ),
)  # fmt: skip
MEASURES: Mapping[str, RowMeasure] = {measure.name: measure for measure in _EVERY}
NAMES = tuple(MEASURES)
"""The order of the measures in arrays."""


@cache
def _inner_edges(name: str, device: torch.device) -> Tensor:
    """Return the edges between the bins of a measure on a device, to which they are copied once."""
    return sent(torch.from_numpy(MEASURES[name].edges[1:-1].copy()), device)


_SINKS = [RowQuantity.CLS, RowQuantity.SEP, RowQuantity.SINK_LOGIT]


def content_rows(tile: AttentionTile) -> Tensor:
    """Mark the rows of a tile that are neither padding nor special tokens, `[batch, row]` bool."""
    return tile.queries.content[:, tile.rows]


def row_values(tile: AttentionTile) -> dict[str, Tensor]:
    """Return each measure of every row by its name, `[batch, head, row]` float64; arbitrary in padding.

    `output_norm` is left out if the layer's output projection is unknown, `distance` if rows and keys are different
    tokens.
    """
    values: dict[str, Tensor] = {}
    if tile.written is not None:
        values["output_norm"] = tile.written.outputs.double()
    values["non_sink"] = non_sink_attention(tile)
    values["entropy"] = tile.statistics[..., RowQuantity.ENTROPY].double()
    if tile.square:
        values["distance"] = _distances(tile)
    return values


def non_sink_attention(tile: AttentionTile) -> Tensor:
    """Return the non-sink attention of every row, `[batch, head, row]` float64."""
    return 1.0 - tile.statistics[..., _SINKS].double().sum(-1)


def _distances(tile: AttentionTile) -> Tensor:
    weights = tile.weights
    rows = torch.arange(tile.rows.start, tile.rows.stop, device=weights.device)
    keys = torch.arange(weights.shape[-1], device=weights.device)
    apart = (rows[:, None] - keys).abs().to(weights.dtype)
    # Padding on the left moves rows and keys by the same number.
    return torch.einsum("bhrk,rk->bhr", weights, apart).double()


_UNIT = "length of a vector of the stream, share, nats or tokens"
_NEVER = "no output projection is known, or rows and keys are other tokens"
_SINK = "a learned sink"

DISTRIBUTION = TableSchema(
    name="distribution",
    meaning="The deciles of output norm, non-sink attention, entropy and distance over every head's rows.",
    columns=(
        *PLACE,
        text("measure", "quantity that is measured in every row", choices=NAMES),
        Column("decile", "number of tenths of the rows that lie below the value", "int64", bounds=(1.0, 9.0)),
        *estimate("value", "upper end of these rows, interpolated in "
        "bins", unit=_UNIT, missing=_NEVER, bounds=NOT_NEGATIVE),
        count("n_rows", "rows"),
    ),
    key=("kind", "layer", "head", "measure", "decile"),
)  # fmt: skip

EXAMPLES = TableSchema(
    name="distribution_examples",
    meaning="Examples from every decile of a head's rows by output norm: up to three random rows (selected by a "
    "hash), with the tokens around them and the key with the largest weight.",
    columns=(
        *PLACE,
        text(
            "measure",
            "measure by which rows are sorted: `non_sink` if output norms are not known",
            choices=tuple(name for name in MEASURES if name in ("output_norm", "non_sink")),
        ),
        Column("decile", "which tenth of the rows, 1 for the weakest", "int64", bounds=(1.0, 10.0)),
        Column("rank", "which of the decile's, from 1", "int64", bounds=FROM_ONE),
        Column("value", "how strong the row is", unit="norm of a stream vector, or share", bounds=NOT_NEGATIVE),
        *excerpt("token", missing=_SINK),
    ),
    key=("kind", "layer", "head", "decile", "rank"),
)  # fmt: skip

TABLES = (DISTRIBUTION, EXAMPLES)

HEAD_LABELS = {
    (name, decile): MeasureLabel(
        label=f"{measure.label}, {of_rows}", unit="units of length" if name == "output_norm" else measure.unit
    )
    for name, measure in MEASURES.items()
    for decile, of_rows in ((5, "median"), (9, "9th decile"))
}
