"""The part of the report on norms."""

from headscope.analyses.norms.findings import TOPIC, norm_findings
from headscope.analyses.norms.section import FIGURE, TERMS, norm_section
from headscope.report_kit.report_parts import Parts

PARTS = Parts(
    group="where",
    findings=norm_findings,
    sections=norm_section,
    figures=(FIGURE,),
    terms=TERMS,
    explained=("norms",),
    headline={TOPIC: 75},
)
