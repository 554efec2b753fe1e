"""What the report shows of gradient importance."""

from headscope.analyses.importance.findings import TOPIC, importance_findings
from headscope.analyses.importance.section import TERMS, importance_section, save_importance_figure
from headscope.reporting.kit.report_parts import Parts

PARTS = Parts(
    findings=importance_findings,
    sections=importance_section,
    figures=save_importance_figure,
    terms=TERMS,
    explained=("importance",),
    headline={TOPIC: 70},
)
