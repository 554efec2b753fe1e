"""The rows of table 3: each probe on each model, its measures and its seeds; and the table for a paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any

import pandas as pd

from headscope.analyses.probes.catalog import SYSTEMS
from headscope.analyses.probes.parsers.learner import System
from headscope.report_kit.tables.cells import Cell, cell_of, number, records
from headscope.report_kit.tables.paper_columns import count_column, interval_columns, percent_column, words_column
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.study.paper_table import PaperColumn, PaperTable
from headscope.study.study import Study

MORE = {"LAS": "with label", "selectivity": "selectivity"}


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
    def score(self) -> Cell:
        """The row's main score: UAS, or UUAS for the structural probe."""
        return self.cells[self.system.measure]

    @property
    def title(self) -> str:
        """The name of the row, with its measure if that is not UAS."""
        return self.system.name + (f" ({self.system.measure})" if self.system.measure != "UAS" else "")


def probe_lines(table: pd.DataFrame | None) -> dict[tuple[str, str], ProbeLine]:
    """Return the rows of `tables/probes.parquet` by probe and model, in the paper's order.

    A row without its main measure is left out.
    """
    lines = {}
    for (probe, model), system in SYSTEMS.items():
        rows = [row for row in records(table) if (row["probe"], row["model"]) == (probe, model)]
        means = [row for row in rows if isnan(number(row["seed"]))]
        cells = {str(row["measure"]): cell_of(row, "value") for row in means}
        if system.measure not in cells:
            continue
        lines[probe, model] = ProbeLine(
            probe=probe,
            model=model,
            system=system,
            vectors=next((row["vectors"] for row in means if isinstance(row["vectors"], str)), ""),
            cells=cells,
            spread={str(row["measure"]): number(row["spread"]) for row in means},
            values=tuple(
                float(row["value"])
                for row in rows
                if row["measure"] == system.measure and not isnan(number(row["seed"]))
            ),
        )
    return lines


def table_3(run: Study) -> PaperTable | None:
    """Return the table; None where the run trained no probes."""
    lines = probe_lines(run.tables.get("probes")).values()
    if not lines:
        return None
    frame = pd.DataFrame([_row(line) for line in lines])
    columns = (
        words_column("probe", "probe"),
        words_column("measure", "measure"),
        percent_column("found", "score"),
        PaperColumn("seeds", _seeds),
        *(percent_column(MORE[name], name) for name in MORE if any(name in line.cells for line in lines)),
        count_column("n", "n_cases"),
    )
    caption = (
        "Head words that probes over frozen attention find, in percent, with 95% intervals over documents (none with "
        f"fewer than {FEWEST_DOCUMENTS}). UAS: directed; UUAS: arcs without their direction. Selectivity: UAS less the "
        "accuracy on a control task. Seeds: how many, and the standard deviation over them in points."
    )
    return PaperTable("table-3", caption, frame, columns)


def _row(line: ProbeLine) -> dict[str, object]:
    return {
        "probe": line.system.name,
        "vectors": line.vectors,
        "model": line.model,
        "measure": line.system.measure,
        **interval_columns("score", line.score),
        "seeds": len(line.values),
        "spread": line.spread[line.system.measure],
        **{key: value for name in MORE for key, value in interval_columns(name, line.cells.get(name)).items()},
        "n_cases": line.score.n,
    }


def _seeds(row: dict[str, Any]) -> str:
    spread = float(row["spread"])
    return f"{row['seeds'] or '–'}" + (f" (± {100 * spread:.1f})" if not isnan(spread) else "")
