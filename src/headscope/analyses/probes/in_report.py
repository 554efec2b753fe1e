"""The part of the report on probes."""

from headscope.analyses.probes.figures.drawings import FIGURES
from headscope.analyses.probes.findings import TOPIC, probe_findings
from headscope.analyses.probes.section import TERMS, probes_section
from headscope.report_kit.report_parts import Parts

PARTS = Parts(
    group="syntax",
    findings=probe_findings,
    sections=probes_section,
    figures=FIGURES,
    terms=TERMS,
    explained=("probes",),
    headline={TOPIC: 50},
)
