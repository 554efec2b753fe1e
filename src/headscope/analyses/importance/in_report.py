"""The part of the report on gradient importance."""

from headscope.analyses.importance.findings import TOPIC, importance_findings
from headscope.analyses.importance.section import FIGURE, TERMS, importance_section
from headscope.report_kit.report_parts import Parts

PARTS = Parts(
    group="worth",
    findings=importance_findings,
    sections=importance_section,
    figures=(FIGURE,),
    terms=TERMS,
    explained=("importance",),
    headline={TOPIC: 70},
)
