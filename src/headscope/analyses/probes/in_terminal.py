"""Probes as a terminal shows them: table 3."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headscope.analyses.probes.catalog import SYSTEMS
from headscope.analyses.probes.names import STRUCTURAL
from headscope.analyses.stage_result import StageResult
from headscope.counted import count
from headscope.report_kit.numbers import terminal_ends, terminal_share, two_decimals, with_ends
from headscope.report_kit.tables.cells import cell_of, records
from headscope.report_kit.tables.terminal import Grid

_MORE = {
    "UAS tree": "as a tree",
    "LAS": "with label",
    "control accuracy": "control task",
    "selectivity": "selectivity",
}


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield table 3: the share of head words that each probe finds, with its interval and its seeds' spread."""
    probes = result.tables["probes"]
    more = [name for name in _MORE if (probes["measure"] == name).any()]
    columns = [("probe", "left"), ("found", "right"), ("95% interval", "right"), ("spread", "right")]
    columns += [*((_MORE[name], "right") for name in more), ("n", "right")]
    lines = []
    means = probes[probes["seed"].isna()]
    for (probe, model), system in SYSTEMS.items():
        rows = means[(means["probe"] == probe) & (means["model"] == model)].to_dict("records")
        row_by_measure: dict[str, Any] = {str(row["measure"]): row for row in rows}
        if system.measure not in row_by_measure:
            continue
        row = row_by_measure[system.measure]
        source = f", {row['vectors']}" if probe == STRUCTURAL else ""
        measure = f" ({system.measure})" if system.measure != "UAS" else ""
        cells = (
            f"{system.name}{source}{measure}",
            terminal_share(row["value"]),
            terminal_ends(row["ci_low"], row["ci_high"]),
            terminal_share(row["spread"]),
            *(
                terminal_share(row_by_measure[name]["value"]) if name in row_by_measure else "-"
                for name in more
            ),
            f"{row['n_cases']:,}",
        )
        lines.append(cells)
    yield Grid(columns, lines)
    facts = result.facts["probes"]
    layer = _spearman(means)
    yield (
        f"trained on {count(facts['train']['sentences'], 'sentence')} of {facts['train']['name']}, measured on "
        f"{facts['dev']['sentences']:,} of {facts['dev']['name']}; percent of the words, punctuation left out, means "
        f"over {count(facts['seeds'], 'seed')}; words: {facts['vectors']}{layer}"
    )
    if "overlap" in facts and not facts["overlap"]["sentences"]:
        yield ("no measured sentence is in train")  # else a note says how many are


def _spearman(means: Any) -> str:
    """Say how well the structural probe's distances correlate with the trees'."""
    rows = means[(means["probe"] == STRUCTURAL) & (means["measure"] == "Spearman")]
    cells = [cell_of(row, "value") for row in records(rows)]
    if not cells or not cells[0].exists:
        return ""
    return f"; structural probe's distances, Spearman: {with_ends(cells[0], two_decimals)}"
