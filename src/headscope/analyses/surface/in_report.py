"""What the report shows of surface statistics."""

from headscope.analyses.surface.figures import surface_figures
from headscope.analyses.surface.findings import surface_findings
from headscope.analyses.surface.paper import paper_section
from headscope.analyses.surface.section import surface_sections
from headscope.reporting.kit.report_parts import Parts

PARTS = Parts(
    findings=surface_findings,
    sections=surface_sections,
    figures=surface_figures,
    closing=paper_section,
    headline={"none": 10, "position": 20, "special": 60, "focus": 90, "noop": 100, "roles": 110},
)
