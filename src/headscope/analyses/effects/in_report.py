"""What effects of heads add to the report."""

from headscope.analyses.effects import direct_table
from headscope.analyses.effects.findings import TOPIC, effect_findings
from headscope.analyses.effects.kept import findings as kept
from headscope.analyses.effects.kept import section as kept_section
from headscope.analyses.effects.section import FIGURE, TERMS, effect_section
from headscope.report_kit.linked_sentences import Sentence
from headscope.report_kit.report_parts import Context, Parts, Section


def findings(about: Context) -> list[Sentence]:
    """Say what the model loses with attention replaced by explanations, and without single heads."""
    return [*kept.kept_findings(about), *effect_findings(about)]


def sections(about: Context) -> list[Section]:
    """Build the section on effects, and that on what explanations keep of them."""
    return [*effect_section(about), *kept_section.kept_section(about)]


PARTS = Parts(
    group="worth",
    findings=findings,
    sections=sections,
    figures=(FIGURE, kept_section.FIGURE),
    terms=(*TERMS, *direct_table.TERMS, *kept_section.TERMS),
    explained=("effects", "effect_kept"),
    headline={kept.TOPIC: 1, TOPIC: 5},
)
