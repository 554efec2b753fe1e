"""What the report shows of heads' principal directions."""

from headscope.analyses.directions.on_cards import direction_cards
from headscope.analyses.directions.on_grid import direction_measures
from headscope.analyses.directions.section import TERMS, direction_figures, direction_section
from headscope.reporting.kit.report_parts import Parts

PARTS = Parts(
    sections=direction_section,
    figures=direction_figures,
    terms=TERMS,
    explained=("directions",),
    measures=direction_measures,
    cards=direction_cards,
    needed={"directions": ("directions_map", "run headscope report again with --also directions")},
)
