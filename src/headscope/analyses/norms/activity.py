"""Where every head stands: how much of its weight lies on the sink, against how much it writes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from headscope.analyses.norms.tables import IN_LAYER
from headscope.reporting.kit.cells import Cell, cell_of, records
from headscope.reporting.kit.kinds import Kind

ON_SINK = 0.5
"""Of its weight: a head that puts more on the first token, separators or a learned sink is on the sink."""
SINKS = ("cls", "sep", "sink")
"""The statistics whose shares are weight on the sink; what cannot occur has none."""


@dataclass(frozen=True)
class Activity:
    """One head on both axes.

    Attributes:
        layer: from 1.
        head: from 1.
        on_sink: share of its weight on the first token, separators and a learned sink.
        relative: its output's length divided by that of the layer's mean head.
        rests: whether that is below a quarter, corrected over the heads; None where it was not tested.
    """

    layer: int
    head: int
    on_sink: float
    relative: Cell
    rests: bool | None

    @property
    def sinks(self) -> bool:
        """Whether most of its weight lies on the sink."""
        return self.on_sink > ON_SINK


def activities(table: pd.DataFrame, kind: Kind) -> list[Activity]:
    """Return every head of a kind whose output was measured, by layer and head.

    Args:
        table: `tables/norms.parquet`.
        kind: with the shares of weight.
    """
    rows = table[(table["kind"] == kind.name) & (table["statistic"] == IN_LAYER) & table["value"].notna()]
    return list(_each(rows.sort_values(["layer", "head"]), kind))


def _each(rows: pd.DataFrame, kind: Kind) -> Iterator[Activity]:
    for row in records(rows):
        layer, head = int(row["layer"]), int(row["head"])
        shares = [kind.cell(name, layer, head).value for name in SINKS if name in kind.heads]
        rests = {"yes": True, "no": False}.get(row["inactive"])
        yield Activity(layer, head, float(np.nansum(shares)), cell_of(row, "value"), rests)
