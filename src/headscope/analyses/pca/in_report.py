"""What principal directions add to the report."""

from headscope.analyses.pca.on_cards import direction_cards
from headscope.analyses.pca.on_grid import direction_measures
from headscope.analyses.pca.section import TERMS, direction_figures, direction_section
from headscope.reporting.kit.report_parts import Parts

PARTS = Parts(
    sections=direction_section,
    figures=direction_figures,
    terms=TERMS,
    explained=("pca",),
    measures=direction_measures,
    cards=direction_cards,
    needed={"pca": ("pca_map", "run headscope report again with --include pca")},
)
