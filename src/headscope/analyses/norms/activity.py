"""Activity of heads: each head's share of attention on sink tokens, and its output norm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from headscope.analyses.norms.tables import IN_LAYER
from headscope.report_kit.kinds import Kind
from headscope.report_kit.tables.cells import Cell, cell_of, records

SINK_THRESHOLD = 0.5
"""A head attends to the sink if more than this share of its weight is on the first token, separators, a sink logit."""
SINK_STATISTICS = ("cls", "sep", "sink_logit")
"""The statistics whose shares sum to attention to the sink; one that cannot occur adds nothing."""


@dataclass(frozen=True)
class Activity:
    """One head's attention to the sink and its output norm.

    Attributes:
        layer: from 1.
        head: from 1.
        sink_share: share of its attention on the first token, separators and a learned sink.
        relative: its output norm divided by that of the layer's mean head.
        inactive: True if `relative` is below a quarter, corrected over the heads; None where it was not tested.
    """

    layer: int
    head: int
    sink_share: float
    relative: Cell
    inactive: bool | None

    @property
    def attends_to_sink(self) -> bool:
        """True if more than `SINK_THRESHOLD` of its attention is on the sink."""
        return self.sink_share > SINK_THRESHOLD


def activities(table: pd.DataFrame, kind: Kind) -> list[Activity]:
    """Return every head of a kind whose output was measured, by layer and head.

    Args:
        table: `tables/norms.parquet`.
        kind: kind of attention, with the shares of weight.
    """
    rows = table[(table["kind"] == kind.name) & (table["statistic"] == IN_LAYER) & table["value"].notna()]
    heads = []
    for row in records(rows.sort_values(["layer", "head"])):
        layer, head = int(row["layer"]), int(row["head"])
        shares = [kind.cell(name, layer, head).value for name in SINK_STATISTICS if name in kind.heads]
        inactive = None if pd.isna(row["inactive"]) else bool(row["inactive"])
        heads.append(Activity(layer, head, float(np.nansum(shares)), cell_of(row, "value"), inactive))
    return heads
