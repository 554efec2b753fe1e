"""What explanations add to the report."""

from headscope.analyses.explanation.section import TERMS, explanation_section
from headscope.report_kit.report_parts import Parts

PARTS = Parts(sections=explanation_section, terms=TERMS, explained=("explanation",))
