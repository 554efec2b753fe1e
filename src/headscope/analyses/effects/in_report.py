"""What effects of heads add to the report."""

from headscope.analyses.effects import direct_table, logit_findings
from headscope.analyses.effects.card_line import effect_lines
from headscope.analyses.effects.compared import section as compared
from headscope.analyses.effects.estimates import section as estimates_section
from headscope.analyses.effects.estimates.findings import estimate_findings
from headscope.analyses.effects.findings import TOPIC, effect_findings
from headscope.analyses.effects.kept import findings as kept
from headscope.analyses.effects.kept import section as kept_section
from headscope.analyses.effects.section import FIGURE, TERMS, effect_section
from headscope.report_kit.linked_sentences import Sentence
from headscope.report_kit.report_parts import Context, Parts, Section


def findings(about: Context) -> list[Sentence]:
    """Say what the model loses with attention replaced and without single heads, which copy, and what tells it."""
    return [
        *kept.kept_findings(about),
        *effect_findings(about),
        *logit_findings.logit_findings(about),
        *estimate_findings(about),
        *compared.compared_findings(about),
    ]


def sections(about: Context) -> list[Section]:
    """Build the sections on effects, on what explanations keep of them, on estimates, and on other measures."""
    return [
        *effect_section(about),
        *kept_section.kept_section(about),
        *estimates_section.estimates_section(about),
        *compared.compared_section(about),
    ]


PARTS = Parts(
    group="worth",
    findings=findings,
    sections=sections,
    figures=(FIGURE, kept_section.FIGURE, estimates_section.FIGURE, compared.FIGURE),
    terms=(*TERMS, *direct_table.TERMS, *kept_section.TERMS, *estimates_section.TERMS),
    explained=("effects", "effect_kept"),
    card_lines=effect_lines,
    headline={kept.TOPIC: 1, TOPIC: 5},
)
