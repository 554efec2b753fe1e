"""What gradient importance adds to the report."""

from headscope.analyses.importance.findings import TOPIC, importance_findings
from headscope.analyses.importance.on_grid import importance_measures
from headscope.analyses.importance.section import TERMS, importance_figures, importance_section
from headscope.report_kit.report_parts import Parts

PARTS = Parts(
    findings=importance_findings,
    sections=importance_section,
    figures=importance_figures,
    terms=TERMS,
    measures=importance_measures,
    explained=("importance",),
    headline={TOPIC: 70},
)
