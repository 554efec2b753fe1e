"""Experiments as a terminal shows them: the head chosen for each behaviour."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.analyses.behaviours.catalogue import BEHAVIOURS
from headscope.analyses.behaviours.in_terminal import NOTE, chosen_heads
from headscope.analyses.experiments.catalogue import EXPERIMENTS
from headscope.analyses.stage_result import StageResult
from headscope.reporting.kit.terminal import Grid


def shown(result: StageResult) -> Iterator[Grid | str]:
    """Yield, experiment by experiment, what was done, and the head chosen for each behaviour."""
    for name, experiment in EXPERIMENTS.items():
        heads, best = (
            result.tables[each][result.tables[each]["experiment"] == name]
            for each in ("experiments", "experiments_best")
        )
        if len(best):
            yield f"{experiment.title}: {experiment.meaning}".replace("’", "'")
            yield from chosen_heads(heads, best, [BEHAVIOURS[each] for each in experiment.behaviours])
    yield NOTE
