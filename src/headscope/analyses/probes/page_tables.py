"""Table 3 and the tables folded below it: probes by relation, by distance, by head and by layer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import Any

import pandas as pd

from headscope.analyses.probes.catalog import OVER_ATTENTION, SYSTEMS
from headscope.analyses.probes.figures.weight_grids import TITLES
from headscope.analyses.probes.probe_lines import MORE_MEASURES, ProbeLine
from headscope.report_kit.numbers import DASH, correlation, ends, formatted, points, share
from headscope.report_kit.pictures.strip import strip
from headscope.report_kit.relation_names import short
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import cell_of, number, records
from headscope.report_kit.tables.page_parts import folded, page_table, share_cell
from headscope.report_kit.tables.page_rows import Table
from headscope.report_kit.words import plain
from headscope.statistics.arc_bins import DISTANCES
from headscope.views.markup import Html, el

MOST_WEIGHTS = 20


def table_3(lines: Sequence[ProbeLine], *, paper: Mapping[str, Any] | None = None) -> Html:
    """Return table 3: one row per probe with its score as a mark and a number, further measures, and the paper's score.

    Args:
        lines: rows of table 3, from `probe_lines`.
        paper: the paper's table 3, in percent; None where the model is not the paper's.
    """
    more = [measure for measure in MORE_MEASURES if any(measure in line.cells for line in lines)]
    printed = {name: number(value) for name, value in (paper or {}).items()}
    titles = ["probe", "", "heads found", "seeds", *(MORE_MEASURES[name] for name in more), "n"]
    titles += ["paper"] if printed else []
    groups = {
        title: [_row(line, more, printed) for line in lines if line.system.measure == measure]
        for title, measure in (("", "UAS"), ("Arcs without their direction, from words’ vectors", "UUAS"))
    }
    return page_table(titles, groups, name="table-3", class_="relations", words=("probe",))


def _row(line: ProbeLine, more: Sequence[str], printed: Mapping[str, float]) -> Html:
    score, spread = line.score, line.spread[line.system.measure]
    is_main = line.model == "trained" and line.probe in OVER_ATTENTION
    seeds = DASH if not line.seeds else f"{line.seeds}"
    paper_value = printed.get(line.system.paper or "", float("nan"))
    below = plain(line.vectors) if line.vectors else None
    return el(
        "tr",
        el("th", line.system.name, el("small", below) if below else None, scope="row"),
        el("td", strip(score, role=line.system.role, strong=line.model == "trained"), class_="picture"),
        share_cell(score, bold=is_main),
        el("td", seeds, _spread(spread)),
        [share_cell(line.cells.get(name), _spread(line.spread.get(name, nan))) for name in more],
        el("td", f"{score.n:,}"),
        el("td", formatted(paper_value, ".0f")) if printed else None,
        class_=None if is_main else "weak",
    )  # fmt: skip


def _spread(value: float) -> Html | None:
    """Return the standard deviation over seeds, in points; None with fewer than two seeds."""
    return el("small", f"± {points(value)}") if not isnan(value) else None


def classes_table(table: pd.DataFrame, column: str, *, name: str, header: str) -> Html | None:
    """Return the share of heads found by relation or by distance, one column per probe, folded.

    Args:
        table: `probe_relations` or `probe_by_distance`.
        column: `relation` or `distance`.
        name: the table's id in the page.
        header: title of the first column.
    """
    rows = records(table)
    systems = [key for key in SYSTEMS if any((row["probe"], row["model"]) == key for row in rows)]
    if not systems:
        return None
    cells = {(str(row[column]), (row["probe"], row["model"])): cell_of(row, "value") for row in rows}
    counts = {key: max(cell.n for (label, _), cell in cells.items() if label == key) for key, _ in cells}
    names = (
        [label for label in DISTANCES if label in counts]
        if column == "distance"
        else sorted(counts, key=lambda label: (-counts[label], label))
    )
    titles = [header, "n", *(f"{SYSTEMS[key].name}, %" for key in systems)]
    body = [
        el(
            "tr",
            el("th", short(label) if column == "relation" else label, scope="row"),
            el("td", f"{counts[label]:,}"),
            [share_cell(cells.get((label, key))) for key in systems],
        )
        for label in names
    ]
    return folded(page_table(titles, {"": body}, name=name, class_="small"), f"Table: heads found by {column}")


def weights_table(table: pd.DataFrame, about: Context) -> Html | None:
    """Return the heads with the largest absolute weights of each probe, folded."""
    largest_first = table.sort_values("weight", key=lambda weights: -weights.abs(), kind="stable")
    groups = {}
    for probe in table["probe"].astype(str).unique():
        rows = records(largest_first[largest_first["probe"] == probe].head(MOST_WEIGHTS))
        title = SYSTEMS[probe, "trained"].name if (probe, "trained") in SYSTEMS else plain(probe)
        groups[title] = [_weight(row, about) for row in rows]
    if not groups:
        return None
    titles, words = ("head", "who attends", "weight"), ("who attends",)
    element = page_table(titles, groups, name="table-probe-weights", class_="small", words=words)
    return folded(element, f"Table: the {MOST_WEIGHTS} largest weights of each probe")


def _weight(row: Mapping[str, Any], about: Context) -> Html:
    return el(
        "tr",
        el("th", about.kind(str(row["kind"])).head_link(row["layer"], row["head"]), scope="row"),
        el("td", TITLES.get(str(row["direction"]), plain(row["direction"])), class_="words"),
        el("td", formatted(number(row["weight"]), "#.3g")),
    )


def layers_table(table: pd.DataFrame) -> Html:
    """Return the scores of the structural probe in each layer, folded."""
    body = []
    for layer, of_layer in table.groupby("layer"):
        row_by_measure = {str(row["measure"]): row for row in records(of_layer)}
        line = ["0, embeddings" if layer == 0 else str(layer)]
        for measure, write in (("UUAS", share), ("Spearman", correlation)):
            row = row_by_measure[measure]
            cell = cell_of(row, "value")
            line += [write(cell.value), ends(cell, write, missing=DASH), write(number(row["held_out"]))]
            line.append(f"{cell.n:,}")
        body.append((*line, "chosen" if of_layer["chosen"].any() else ""))
    return Table(
        summary="Table: the structural probe by layer",
        groups=(("", 1), ("UUAS, %", 4), ("Spearman, lengths 5 to 50", 4), ("", 1)),
        header=("layer", *("found", "95% interval", "held-out train", "n") * 2, ""),
        rows=tuple(body),
        name="table-probe-layers",
        words=(9,),
    ).html()
