"""The part of the report on principal directions."""

from headscope.analyses.pca.on_cards import pca_cards
from headscope.analyses.pca.section import FIGURE, TERMS, pca_section
from headscope.report_kit.report_parts import Parts

PARTS = Parts(
    group="what",
    sections=pca_section,
    figures=(FIGURE,),
    terms=TERMS,
    explained=("pca",),
    cards=pca_cards,
    needed={"pca": ("pca_map", "run headscope report again with --include pca")},
)
