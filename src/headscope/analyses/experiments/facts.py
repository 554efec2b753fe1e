"""Experiments: the behaviors of heads on controlled inputs; their facts, rows and words are those of behaviors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headscope.analyses.behaviors.catalog import BEHAVIORS as BEHAVIORS
from headscope.analyses.behaviors.chosen import behavior_function, behavior_scores, chosen_heads
from headscope.analyses.behaviors.facts import COLUMNS as COLUMNS
from headscope.analyses.behaviors.facts import ROWS, Absent, ChosenAttention, NotByNorm, Untested, behavior_facts
from headscope.analyses.behaviors.grids import grid_figure
from headscope.analyses.experiments.tables import EXPERIMENTS, HEAD_LABELS, Experiment
from headscope.present.facts import Fact
from headscope.present.head_functions import FunctionScores, HeadFunction
from headscope.present.page import Page
from headscope.present.report_parts import Context
from headscope.present.study import Study


def experiment_facts(about: Context) -> Iterator[Fact]:
    """Yield the behaviors of the heads of each kind in each experiment."""
    for experiment in EXPERIMENTS:
        for kind in about.kinds:
            yield from behavior_facts(about, kind, experiment)


def experiments_of(about: Context) -> list[Experiment]:
    """Return the experiments that were done."""
    return [
        experiment
        for name, experiment in EXPERIMENTS.items()
        if any(chosen_heads(about.run, kind.name, name) for kind in about.kinds)
    ]


def experiment_scores(run: Study) -> list[FunctionScores]:
    """Return the scores of the behaviors of each experiment that was done."""
    return [scores for name, functions in FUNCTIONS.items() for scores in behavior_scores(run, functions, name)]


FUNCTIONS: dict[str, dict[str, HeadFunction]] = {}
"""The behaviors as functions of heads, by experiment; those of shuffled words, a baseline of text, are not."""
for (_experiment, _name), _label in HEAD_LABELS.items():
    _column = f"experiments.{_experiment}.{_name}"
    FUNCTIONS.setdefault(_experiment, {})[_name] = behavior_function(_column, _label)

PAGE = Page(
    __name__, experiment_facts,
    uses=(*ROWS, experiments_of, ChosenAttention, Absent, Untested, NotByNorm), macros="headscope.analyses.behaviors",
)  # fmt: skip
PARTS = replace(
    PAGE.parts(
        figures=tuple(map(grid_figure, FUNCTIONS)),
        group="controlled",
        explained=("experiments",),
        functions=experiment_scores,
        known_functions=tuple(function for functions in FUNCTIONS.values() for function in functions.values()),
        needed={"experiments": ("experiments", "run headscope report again, with a model and text")},
    ),
    headline={"behaviors repeated": 64},
    decoder_headline={"behaviors repeated": 1, "behaviors needle": 2},
)
