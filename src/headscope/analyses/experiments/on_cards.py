"""Experiments on heads' cards, in the grid and in the search.

Shuffled words are a baseline for text and stand in the page alone.
"""

from __future__ import annotations

from headscope.analyses.behaviors.catalog import BEHAVIORS, Behavior
from headscope.analyses.behaviors.on_cards import showable, showings
from headscope.analyses.experiments.catalog import EXPERIMENTS, Experiment
from headscope.report_kit.measured import Measured
from headscope.report_kit.showings import Showable, Showing

TOPIC = "Controlled inputs"


def _of(experiment: Experiment) -> list[tuple[Behavior, Showable]]:
    return [
        (
            BEHAVIORS[name],
            showable(
                BEHAVIORS[name], where=f"experiments.{experiment.name}", topic=TOPIC, beside=experiment.beside
            ),
        )
        for name in experiment.behaviors
    ]


ON_CARDS = {name: _of(experiment) for name, experiment in EXPERIMENTS.items() if experiment.on_cards}
BY_EXPERIMENT = tuple(what for wanted in ON_CARDS.values() for _, what in wanted)


def experiments_showings(run: Measured) -> list[Showing]:
    """Return the behaviors of each experiment that was done."""
    heads, best = run.table("experiments"), run.table("experiments_best")
    if heads is None or best is None:
        return []
    return [
        showing
        for name, wanted in ON_CARDS.items()
        for showing in showings(heads[heads["experiment"] == name], best[best["experiment"] == name], wanted)
    ]
