"""Findings on experiments: the head chosen for each behavior on controlled inputs."""

from __future__ import annotations

from itertools import product

import pandas as pd

from headscope.analyses.behaviors.chosen import BehaviorHead, chosen_heads
from headscope.analyses.behaviors.findings import behavior_sentences, norm_sentence
from headscope.analyses.experiments.catalog import EXPERIMENTS, Experiment
from headscope.report_kit.linked_sentences import Sentence
from headscope.report_kit.report_parts import Context


def topic_of(experiment: Experiment) -> str:
    """Return the topic of an experiment's sentences."""
    return f"experiment {experiment.name}"


def experiments_findings(about: Context) -> list[Sentence]:
    """Return the sentences, by experiment and kind of attention; none where no experiment was done."""
    findings: list[Sentence] = []
    for experiment, kind in product(EXPERIMENTS.values(), about.kinds):
        chosen = heads_of_experiment(about, experiment, kind.name)
        topic, where = topic_of(experiment), experiment.where
        findings += kind.findings(behavior_sentences(chosen, kind, topic, where=where))
        if experiment.on_cards:
            findings += kind.findings(norm_sentence(chosen, kind, topic, where=where))
    return findings


def heads_of_experiment(about: Context, experiment: Experiment, kind: str) -> list[BehaviorHead]:
    """Return the head chosen for each behavior of an experiment; none where it was not done."""
    heads, best = (rows_of_experiment(about, name, experiment) for name in ("experiments", "experiments_best"))
    return [] if heads is None or best is None else chosen_heads(heads, best, kind, experiment.measured)


def rows_of_experiment(about: Context, name: str, experiment: Experiment) -> pd.DataFrame | None:
    """Return an experiment's rows of a table; None where the run has no such table."""
    table = about.run.tables.get(name)
    return None if table is None else table[table["experiment"] == experiment.name]
