"""The parts of the report on experiments."""

from headscope.analyses.behaviors.catalog import BEHAVIORS
from headscope.analyses.experiments.catalog import EXPERIMENTS
from headscope.analyses.experiments.findings import experiments_findings, topic_of
from headscope.analyses.experiments.head_functions import BY_EXPERIMENT, experiment_scores
from headscope.analyses.experiments.section import FIGURES, experiments_section
from headscope.report_kit.report_parts import Parts

TERMS = (
    *((experiment.title, experiment.meaning) for experiment in EXPERIMENTS.values()),
    (
        "Retrieval",
        f"{BEHAVIORS['retrieval'].meaning} (Wu et al. 2024); the copy is given, not written by the model. "
        "Norm-weighted: the key of which the head writes most in place of the strongest",
    ),
)  # fmt: skip

PARTS = Parts(
    group="controlled",
    findings=experiments_findings,
    sections=experiments_section,
    figures=tuple(FIGURES.values()),
    terms=TERMS,
    explained=("experiments",),
    headline={topic_of(EXPERIMENTS["repeated"]): 64},
    decoder_headline={topic_of(EXPERIMENTS[name]): rank for rank, name in enumerate(("repeated", "needle"), start=1)},
    functions=experiment_scores,
    known_functions=tuple(function for functions in BY_EXPERIMENT.values() for function in functions.values()),
    needed={"experiments": ("experiments", "run headscope report again, with a model and text")},
)
