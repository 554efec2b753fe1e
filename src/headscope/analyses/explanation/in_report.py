"""The parts of the report that explanations add."""

from headscope.analyses.explanation.findings import TOPIC, explanation_findings, head_sentences
from headscope.analyses.explanation.looks import head_looks
from headscope.analyses.explanation.on_cards import explanation_cards
from headscope.analyses.explanation.section import FIGURE, TERMS, explanation_section
from headscope.report_kit.report_parts import Parts

PARTS = Parts(
    group="what",
    findings=explanation_findings,
    sections=explanation_section,
    figures=(FIGURE,),
    terms=TERMS,
    explained=("explanation",),
    headline={TOPIC: 0},
    head_sentences=head_sentences,
    looks=head_looks,
    cards=explanation_cards,
    needed={"explanation": ("explanation_examples", "run headscope report again")},
)
