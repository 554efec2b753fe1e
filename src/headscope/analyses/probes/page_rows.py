"""Rows of the page's tables: table 3, head words found by distance and relation, weights of heads, layers."""

from __future__ import annotations

from headscope.analyses.probes.catalog import OVER_ATTENTION, SYSTEMS
from headscope.analyses.probes.figures import TITLES, paper_of
from headscope.analyses.probes.table_3 import probe_lines
from headscope.prepare.overlap import overlap_line
from headscope.present.blocks import Row
from headscope.report_kit.relation_names import short
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import cell_of, number, records
from headscope.report_kit.words import capital, plain
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS as FEWEST_DOCUMENTS

MOST_WEIGHTS = 20
"""Largest number of heads of each probe in the table of weights."""
SCORES_BY_SYSTEM = {f"{system.name}, %": (" ".join(key), "share_ends") for key, system in SYSTEMS.items()}
"""Columns of the tables by relation and by distance."""


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


def distance_rows(about: Context) -> list[Row]:
    """Return the share of head words that each probe finds, by distance."""
    return _class_rows(about, "probe_by_distance", "distance")


def relation_rows(about: Context) -> list[Row]:
    """Return the share of head words that each probe finds, by relation."""
    return _class_rows(about, "probe_relations", "relation")


def _class_rows(about: Context, table: str, column: str) -> list[Row]:
    rows: dict[str, dict[str, object]] = {}
    for row in records(about.run.tables.get(table)):
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
