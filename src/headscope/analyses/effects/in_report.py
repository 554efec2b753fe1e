"""What effects of heads add to the report."""

from headscope.analyses.effects.findings import TOPIC, effect_findings
from headscope.analyses.effects.section import FIGURE, TERMS, effect_section
from headscope.report_kit.report_parts import Parts

PARTS = Parts(
    group="worth",
    findings=effect_findings,
    sections=effect_section,
    figures=(FIGURE,),
    terms=TERMS,
    explained=("effects",),
    headline={TOPIC: 5},
)
