"""What the report shows of gradient importance."""

from __future__ import annotations

from pathlib import Path

from headscope.analyses.importance.figure import importance_curves
from headscope.analyses.importance.findings import TOPIC, importance_findings
from headscope.analyses.importance.section import TERMS, class_names, importance_section
from headscope.figures.saving import save
from headscope.reporting.kit.parts import Context, Parts, Section, Term
from headscope.reporting.kit.sentences import Sentence


def _findings(about: Context) -> list[Sentence]:
    return importance_findings(about.inputs, about.kinds, about.words)


def _sections(about: Context) -> list[Section]:
    html = importance_section(about.inputs, about.kinds, about.words, about.found, links=about.links)
    return [Section(name="importance", title="What the loss depends on", html=html)]


def _figures(about: Context, folder: Path) -> list[Path]:
    table = about.inputs.importance
    if table is None:
        return []
    return [*save(importance_curves(table, names=class_names(about.words)), folder, "figure-3")]


def _terms(about: Context) -> tuple[Term, ...]:
    return TERMS if about.inputs.importance is not None else ()


PARTS = Parts(findings=_findings, sections=_sections, figures=_figures, terms=_terms, headline={TOPIC: 70})
