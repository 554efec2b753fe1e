"""The parts of the report that effects of heads add."""

from headscope.analyses.effects import direct_table, logit_findings
from headscope.analyses.effects.card_line import effect_lines
from headscope.analyses.effects.compared import section as compared
from headscope.analyses.effects.estimates import section as estimates_section
from headscope.analyses.effects.estimates.findings import estimate_findings
from headscope.analyses.effects.findings import TOPIC, effect_findings
from headscope.analyses.effects.joint import findings as joint
from headscope.analyses.effects.joint import section as joint_section
from headscope.analyses.effects.kept import findings as kept
from headscope.analyses.effects.kept import section as kept_section
from headscope.analyses.effects.section import FIGURE, TERMS, effect_section
from headscope.report_kit.linked_sentences import Sentence
from headscope.report_kit.report_parts import Context, Parts, Section


def findings(about: Context) -> list[Sentence]:
    """Return findings on replaced attention, on single heads, on several heads at once, on logits, on estimates, and on
    the agreement of measures."""
    return [
        *kept.kept_findings(about),
        *effect_findings(about),
        *joint.joint_findings(about),
        *logit_findings.logit_findings(about),
        *estimate_findings(about),
        *compared.compared_findings(about),
    ]


def sections(about: Context) -> list[Section]:
    """Build the sections on effects of single heads and of several heads at once, on effects that explanations keep, on
    estimates, and on the agreement of measures."""
    return [
        *effect_section(about),
        *joint_section.joint_section(about),
        *kept_section.kept_section(about),
        *estimates_section.estimates_section(about),
        *compared.compared_section(about),
    ]


PARTS = Parts(
    group="worth",
    findings=findings,
    sections=sections,
    figures=(FIGURE, joint_section.FIGURE, kept_section.FIGURE, estimates_section.FIGURE, compared.FIGURE),
    terms=(*TERMS, *direct_table.TERMS, *joint_section.TERMS, *kept_section.TERMS, *estimates_section.TERMS),
    explained=("effects", "joint_curves", "effect_kept"),
    card_lines=effect_lines,
    headline={kept.TOPIC: 1, TOPIC: 5, joint.TOPIC: 6},
)
