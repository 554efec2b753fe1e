"""Behaviors in experiments as functions of heads, for cards, the grid and the search.

Shuffled words are a baseline for text, and appear only in the page.
"""

from __future__ import annotations

from headscope.analyses.behaviors.head_functions import behavior_function, behavior_scores
from headscope.analyses.experiments.tables import HEAD_LABELS
from headscope.report_kit.head_functions import FunctionScores
from headscope.study.study import Study

BY_EXPERIMENT = {
    experiment: {
        name: behavior_function(f"experiments.{experiment}.{name}", name, label)
        for (of_experiment, name), label in HEAD_LABELS.items()
        if of_experiment == experiment
    }
    for experiment, _ in HEAD_LABELS
}


def experiment_scores(run: Study) -> list[FunctionScores]:
    """Return the behaviors of each experiment that was done."""
    heads, best = run.tables.get("experiments"), run.tables.get("experiments_best")
    if heads is None or best is None:
        return []
    return [
        scores
        for name, functions in BY_EXPERIMENT.items()
        for scores in behavior_scores(heads[heads["experiment"] == name], best[best["experiment"] == name], functions)
    ]
