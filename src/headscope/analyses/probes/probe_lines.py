"""The rows of table 3 as read from the tables: each probe on each model, its measures and its seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan

import pandas as pd

from headscope.analyses.probes.catalog import SYSTEMS
from headscope.analyses.probes.system import System
from headscope.report_kit.tables.cells import Cell, cell_of, number, records

MORE_MEASURES = {
    "UAS tree": "as a tree",
    "LAS": "with label",
    "control accuracy": "control task",
    "selectivity": "selectivity",
}
"""The further measures next to the main score of a row, with their titles."""


@dataclass(frozen=True)
class ProbeLine:
    """A probe on a model.

    Attributes:
        probe, model: as in the tables.
        system: name and main measure of the row.
        vectors: the word vectors, or the layer, that the probe read; empty if it read none.
        cells: mean over seeds of each measure.
        spread: standard deviation over seeds of each measure; NaN with fewer than two seeds.
        values: main measure of each seed; empty where nothing was trained.
    """

    probe: str
    model: str
    system: System
    vectors: str
    cells: Mapping[str, Cell]
    spread: Mapping[str, float]
    values: tuple[float, ...]

    @property
    def seeds(self) -> int:
        """Number of times that it was trained."""
        return len(self.values)

    @property
    def score(self) -> Cell:
        """The row's main score: UAS, or UUAS for the structural probe."""
        return self.cells[self.system.measure]


def probe_lines(table: pd.DataFrame | None) -> list[ProbeLine]:
    """Return the rows of `tables/probes.parquet` in the paper's order, without those that lack their main measure."""
    rows = records(table)
    lines = []
    for (probe, model), system in SYSTEMS.items():
        matching = [row for row in rows if row["probe"] == probe and row["model"] == model]
        means = [row for row in matching if isnan(number(row["seed"]))]
        of_seeds = [row for row in matching if not isnan(number(row["seed"]))]
        cells = {str(row["measure"]): cell_of(row, "value") for row in means}
        if system.measure not in cells:
            continue
        vector_names = [row["vectors"] for row in means if isinstance(row["vectors"], str)]
        lines.append(
            ProbeLine(
                probe=probe,
                model=model,
                system=system,
                vectors=vector_names[0] if vector_names else "",
                cells=cells,
                spread={str(row["measure"]): number(row["spread"]) for row in means},
                values=tuple(float(row["value"]) for row in of_seeds if row["measure"] == system.measure),
            )
        )
    return lines


def line_of(lines: list[ProbeLine], probe: str, model: str = "trained") -> ProbeLine | None:
    """Return one row, or None if it was not measured."""
    return next((line for line in lines if (line.probe, line.model) == (probe, model)), None)
