"""What the report shows of probes."""

from __future__ import annotations

from pathlib import Path

from headscope.analyses.probes.findings import TOPIC, probe_findings
from headscope.analyses.probes.section import TERMS, probes_section, save_probe_figures
from headscope.reporting.kit.parts import Context, Parts, Section, Term
from headscope.reporting.kit.sentences import Sentence


def _findings(about: Context) -> list[Sentence]:
    return probe_findings(about.inputs, several=about.several)


def _sections(about: Context) -> list[Section]:
    html = probes_section(about.inputs, about.kinds, about.found, links=about.links)
    return [Section(name="probes", title="What all heads know together", html=html)]


def _figures(about: Context, folder: Path) -> list[Path]:
    return save_probe_figures(about.inputs, about.kinds, folder)


def _terms(about: Context) -> tuple[Term, ...]:
    return TERMS if about.inputs.probes is not None else ()


PARTS = Parts(findings=_findings, sections=_sections, figures=_figures, terms=_terms, headline={TOPIC: 50})
