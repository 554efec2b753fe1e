"""What gradient importance adds to the report."""

from headscope.analyses.importance.findings import TOPIC, importance_findings
from headscope.analyses.importance.section import TERMS, importance_figures, importance_section
from headscope.report_kit.report_parts import Parts

PARTS = Parts(
    findings=importance_findings,
    sections=importance_section,
    figures=importance_figures,
    terms=TERMS,
    explained=("importance",),
    headline={TOPIC: 70},
)
