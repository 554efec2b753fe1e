"""What the report shows of distances between heads."""

from __future__ import annotations

from pathlib import Path

from headscope.analyses.distances.accumulator import DIVERGENCE_GROUPS
from headscope.analyses.distances.findings import TOPIC, distances_findings
from headscope.analyses.distances.section import distances_section, save_distance_figures
from headscope.reporting.kit.parts import Context, Parts, Section, Term
from headscope.reporting.kit.sentences import Sentence

_TERMS = (
    ("Distance between heads", "Jensen–Shannon divergence of their attention, in nats, averaged over all tokens that "
     "attend; 0.1% of each distribution is spread evenly first. The map is metric multidimensional scaling of it. "
     f"Documents are resampled in {DIVERGENCE_GROUPS} groups at most"),
    ("Layer effect", "mean divergence between heads of different layers less that of heads of one layer; p from 10,000 "
     "permutations of the heads’ layers"),
)  # fmt: skip


def _findings(about: Context) -> list[Sentence]:
    return distances_findings(about.inputs, about.words, several=about.several)


def _sections(about: Context) -> list[Section]:
    html = distances_section(about.inputs, about.kinds, about.words, about.found, links=about.links)
    return [Section(name="distances", title="Which heads are alike", html=html)]


def _figures(about: Context, folder: Path) -> list[Path]:
    return save_distance_figures(about.inputs, about.kinds, about.words, folder)


def _terms(about: Context) -> tuple[Term, ...]:
    return _TERMS if about.inputs.head_map is not None else ()


PARTS = Parts(findings=_findings, sections=_sections, figures=_figures, terms=_terms, headline={TOPIC: 80})
