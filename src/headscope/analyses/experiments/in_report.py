"""What the report shows of experiments."""

from headscope.analyses.behaviours.catalogue import BEHAVIOURS
from headscope.analyses.experiments.catalogue import EXPERIMENTS
from headscope.analyses.experiments.section import experiments_findings, experiments_section, topic_of
from headscope.reporting.kit.report_parts import Parts

TERMS = (
    *((one.title, one.meaning) for one in EXPERIMENTS.values()),
    ("Retrieval", f"{BEHAVIOURS['retrieval'].meaning} (Wu et al. 2024); the copy is given, not written by the model"),
)  # fmt: skip

PARTS = Parts(
    findings=experiments_findings,
    sections=experiments_section,
    terms=TERMS,
    explained=("experiments",),
    headline={topic_of(EXPERIMENTS["repeated"]): 64},
)
