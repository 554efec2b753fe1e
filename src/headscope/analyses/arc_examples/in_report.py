"""The part of the report with examples of the best heads: figure 5."""

from headscope.analyses.arc_examples.section import FIGURE, arcs_section
from headscope.report_kit.report_parts import Parts

# These terms explain how the heads of the examples were selected.
TERMS = (
    ("Held-out", "a head is chosen on one half of the documents and scored on the other, both ways, over 20 halvings: "
     "what the choice is worth. The head chosen most often is named, with its accuracy on documents that did not "
     "choose it. The paper’s way chooses and scores on all"),
    ("95% interval of a difference", "both numbers are of the same documents, and what they share cancels; so two "
     "numbers can be told apart whose own intervals overlap"),
    ("Random weights", "the same model with weights that were never trained, through the same selection"),
)  # fmt: skip

PARTS = Parts(group="syntax", sections=arcs_section, figures=(FIGURE,), terms=TERMS, explained=("syntax_best", "coref"))
