"""Table 3 for a paper: the scores of each probe."""

from __future__ import annotations

from math import isnan
from typing import Any

import pandas as pd

from headscope.analyses.probes.probe_lines import ProbeLine, probe_lines
from headscope.report_kit.tables.paper_columns import count_column, interval_columns, percent_column, words_column
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.study.paper_table import PaperColumn, PaperTable
from headscope.study.study import Study

MORE = {"LAS": "with label", "selectivity": "selectivity"}


def table_3(run: Study) -> PaperTable | None:
    """Return the table; None where the run trained no probes."""
    lines = probe_lines(run.tables.get("probes"))
    if not lines:
        return None
    frame = pd.DataFrame([_row(line) for line in lines])
    more = [name for name in MORE if any(name in line.cells for line in lines)]
    columns = (
        words_column("probe", "probe"),
        words_column("measure", "measure"),
        percent_column("found", "score"),
        PaperColumn("seeds", _seeds),
        *(percent_column(MORE[name], name) for name in more),
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
        "seeds": line.seeds,
        "spread": line.spread[line.system.measure],
        **{key: value for name in MORE for key, value in interval_columns(name, line.cells.get(name)).items()},
        "n_cases": line.score.n,
    }


def _seeds(row: dict[str, Any]) -> str:
    if not row["seeds"]:
        return "–"
    spread = float(row["spread"])
    return f"{row['seeds']}" + (f" (± {100 * spread:.1f})" if not isnan(spread) else "")
