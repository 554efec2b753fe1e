"""Experiments in a terminal: the head chosen for each behavior."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.behaviors.in_terminal import NOTE, render_chosen_heads
from headscope.analyses.experiments.catalog import EXPERIMENTS
from headscope.analyses.stage_result import StageResult
from headscope.report_kit.tables.terminal import Grid


def render_results(result: StageResult) -> Iterator[Grid | str]:
    """Yield, experiment by experiment, a description and the head chosen for each behavior."""
    for name, experiment in EXPERIMENTS.items():
        heads, best = (
            result.tables[table][result.tables[table]["experiment"] == name]
            for table in ("experiments", "experiments_best")
        )
        if len(best):
            yield f"{experiment.title}: {experiment.meaning}".replace("’", "'")
            yield from render_chosen_heads(heads, best, experiment.measured)
    yield NOTE
