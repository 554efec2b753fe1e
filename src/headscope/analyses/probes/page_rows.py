"""The rows of the tables of probes, for the page and a paper: table 3, distances, relations, weights and layers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan
from typing import Any

import pandas as pd

from headscope.analyses.probes.parsers.learner import System
from headscope.analyses.probes.tables import OVER_ATTENTION, SYSTEMS
from headscope.present.blocks import Row
from headscope.present.cells import Cell, cell_of, number, records
from headscope.present.numbers import count_column, interval_columns, percent_column, words_column
from headscope.present.paper_table import PaperColumn, PaperTable, paper_numbers
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.words import capital, plain, short
from headscope.scans.prepare.run_corpora import overlap_line
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS

TITLES = {"dependent->head": "dependent → head word", "head->dependent": "head word → dependent"}
MOST_WEIGHTS = 20
"""Largest number of heads of each probe in the table of weights."""
SCORES_BY_SYSTEM = {f"{system.name}, %": (" ".join(key), "share_ends") for key, system in SYSTEMS.items()}
"""Columns of the tables by relation and by distance."""
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


def paper_of(run: Study) -> Mapping[str, Any] | None:
    """Return the paper's table 3 if the model is the paper's, else None."""
    return paper_numbers().get("table3") if run.is_bert_base else None


def overlap_said(about: Context) -> str:
    """Return the number of scored sentences that the probes were trained on too; empty if it was not counted."""
    facts = (about.run.manifest.get("probes") or {}).get("overlap")
    return capital(plain(overlap_line(facts))) if facts else ""


def probe_rows(about: Context) -> list[Row]:
    """Return table 3; the structural probe, which finds arcs without their direction, comes last."""
    printed = paper_of(about.run) or {}
    groups = {"UAS": "", "UUAS": "Arcs without their direction, from words’ vectors"}
    rows = [
        {
            "probe": (line.title, plain(line.vectors)),
            "picture": {"accuracy": line.score, "role": line.system.role, "strong": line.model == "trained"},
            "score": (line.score, not weak, line.spread[line.system.measure]),
            "seeds": len(line.values) or None,
            **{name: (cell, line.spread[name]) for name, cell in line.cells.items() if name != line.system.measure},
            "n": line.score.n,
            "paper": printed.get(line.system.paper or ""),
            "group": groups[line.system.measure],
            "weak": weak,
        }
        for line in probe_lines(about.run.tables.get("probes")).values()
        for weak in [line.model != "trained" or line.probe not in OVER_ATTENTION]
    ]
    return sorted(rows, key=lambda row: str(row["group"]))


def class_rows(about: Context, column: str) -> list[Row]:
    """Return the share of head words that each probe finds, by `distance` or by `relation`."""
    rows: dict[str, dict[str, object]] = {}
    for row in records(about.run.tables.get({"distance": "probe_by_distance"}.get(column, "probe_relations"))):
        name, cell = str(row[column]), cell_of(row, "value")
        shown = rows.setdefault(name, {column: (short(name) if column == "relation" else name, ""), "n": cell.n})
        shown[f"{row['probe']} {row['model']}"] = cell
    return list(rows.values())


def weight_rows(about: Context) -> list[Row]:
    """Return the heads with the largest absolute weights of each probe."""
    table = about.run.tables.get("probe_weights")
    if table is None:
        return []
    largest_first = table.sort_values("weight", key=lambda weights: -weights.abs(), kind="stable")
    return [
        {
            "head": (about.kind(str(row["kind"])).labeled_head(row["layer"], row["head"]), ""),
            "direction": TITLES.get(str(row["direction"]), row["direction"]),
            "weight": number(row["weight"]),
            "group": SYSTEMS[probe, "trained"].name if (probe, "trained") in SYSTEMS else plain(probe),
        }
        for probe in table["probe"].astype(str).unique()
        for row in records(largest_first[largest_first["probe"] == probe].head(MOST_WEIGHTS))
    ]


def layer_rows(about: Context) -> list[Row]:
    """Return the scores of the structural probe in each layer."""
    rows: dict[int, dict[str, object]] = {}
    for row in records(about.run.tables.get("probe_layers")):
        layer, measure, cell = int(row["layer"]), str(row["measure"]), cell_of(row, "value")
        shown = rows.setdefault(layer, {"layer": str(layer) if layer else "0, embeddings"})
        shown |= {measure: cell, f"{measure} held out": number(row["held_out"]), f"{measure} n": cell.n}
        shown["chosen"] = "chosen" if row["chosen"] else ""
    return list(rows.values())
