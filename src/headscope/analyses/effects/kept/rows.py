"""Read the table of effects kept: the replaced heads with their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from headscope.analyses.effects.kept.tables import KEPT, UNIFORM
from headscope.analyses.explanation.findings import of_weight
from headscope.analyses.explanation.tables import TRAINED
from headscope.attention.head_id import head_label
from headscope.report_kit.kinds import Kind
from headscope.report_kit.tables.cells import Cell, cell_of, number, records
from headscope.study.study import Study


@dataclass(frozen=True)
class Replaced:
    """Heads whose attention was replaced at once.

    Attributes:
        kind: kind of attention; None where all heads of the model were replaced.
        layer: layer, from 1; None where all heads of the model were replaced.
        head: head, from 1; None where all heads of the layer were replaced.
        cells: numbers by measure.
    """

    kind: str | None
    layer: int | None
    head: int | None
    cells: Mapping[str, Cell]

    @property
    def label(self) -> str:
        """The label of the replaced heads: `2-8`, `layer 2` or `all heads`."""
        if self.layer is None:
            return "all heads"
        return f"layer {self.layer}" if self.head is None else head_label(self.layer, self.head)

    @property
    def kept(self) -> Cell:
        """The share of the effect that the explanation keeps."""
        return self.cells[KEPT]

    @property
    def effect(self) -> float:
        """The loss that uniform attention adds, nats."""
        return self.cells[UNIFORM].value


def replaced_of(table: pd.DataFrame) -> list[Replaced]:
    """Return the replacements in the order of the table: heads, layers, the model.

    Args:
        table: `tables/effect_kept.parquet`.
    """
    cells: dict[tuple[str | None, int | None, int | None], dict[str, Cell]] = {}
    for row in records(table):
        kind, layer, head = (None if pd.isna(row[name]) else row[name] for name in ("kind", "layer", "head"))
        cells.setdefault((kind, layer, head), {})[row["measure"]] = cell_of(row, "value")
    return [Replaced(*name, of_name) for name, of_name in cells.items()]


def explained_shares(run: Study, kind: Kind) -> dict[tuple[int, int], float]:
    """Return the share of each head's attention that its explanation predicts, by layer and head.

    Args:
        run: study with the tables.
        kind: kind of attention.
    """
    rows = of_weight(run, kind)
    return {
        (int(row["layer"]), int(row["head"])): number(row["explained"])
        for row in records(rows[rows["model"] == TRAINED])
    }
