"""What the report shows of surface statistics."""

from typing import Any

from headscope.analyses.surface.by_norm import norm_on_cards
from headscope.analyses.surface.figures import surface_figures
from headscope.analyses.surface.findings import surface_findings
from headscope.analyses.surface.on_grid import written_measures
from headscope.analyses.surface.paper import paper_section
from headscope.analyses.surface.section import surface_sections
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.measured import Measured
from headscope.reporting.kit.report_parts import Parts
from headscope.reporting.kit.words import words_for


def _cards(run: Measured, kind: Kind) -> dict[str, Any]:
    return {"written": norm_on_cards(run, kind, words_for(run.manifest))}


PARTS = Parts(
    findings=surface_findings,
    sections=surface_sections,
    figures=surface_figures,
    closing=paper_section,
    cards=_cards,
    measures=written_measures,
    headline={"none": 10, "position": 20, "special": 60, "focus": 90, "noop": 100, "roles": 110},
)
