"""Probes in the terminal: table 3."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.probes.names import STRUCTURAL
from headscope.analyses.probes.probe_lines import MORE_MEASURES, line_of, probe_lines
from headscope.analyses.stage_result import StageResult
from headscope.counted import count
from headscope.report_kit.numbers import HYPHEN, terminal_ends, terminal_share, two_decimals, with_ends
from headscope.report_kit.tables.terminal import Grid


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield table 3: the share of head words found by each probe, with its interval and its spread over seeds."""
    lines = probe_lines(result.tables["probes"])
    more = [name for name in MORE_MEASURES if any(name in line.cells for line in lines)]
    rows = []
    for line in lines:
        source = f", {line.vectors}" if line.probe == STRUCTURAL else ""
        measure = f" ({line.system.measure})" if line.system.measure != "UAS" else ""
        rows.append(
            (
                f"{line.system.name}{source}{measure}",
                terminal_share(line.score.value),
                terminal_ends(line.score.ci_low, line.score.ci_high),
                terminal_share(line.spread[line.system.measure]),
                *(terminal_share(line.cells[name].value) if name in line.cells else HYPHEN for name in more),
                f"{line.score.n:,}",
            )
        )
    further = (MORE_MEASURES[name] for name in more)
    yield Grid(("probe", "found", "95% interval", "spread", *further, "n"), rows)
    facts = result.facts["probes"]
    structural = line_of(lines, STRUCTURAL)
    spearman = structural and structural.cells.get("Spearman")
    layer = ""
    if spearman and spearman.exists:
        layer = f"; structural probe's distances, Spearman: {with_ends(spearman, two_decimals)}"
    yield (
        f"trained on {count(facts['train']['sentences'], 'sentence')} of {facts['train']['name']}, measured on "
        f"{facts['dev']['sentences']:,} of {facts['dev']['name']}; percent of the words, punctuation left out, means "
        f"over {count(facts['seeds'], 'seed')}; words: {facts['vectors']}{layer}"
    )
    if "overlap" in facts and not facts["overlap"]["sentences"]:
        yield ("no measured sentence is in train")  # else a note gives their number
