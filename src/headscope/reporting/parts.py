"""The parts of the report, an analysis after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from headscope.analyses import ANALYSES
from headscope.reporting.kit.inputs import ReportInputs
from headscope.reporting.kit.parts import Context, Parts, Term


def every_part() -> Iterator[Parts]:
    """Yield what each analysis adds, in the order of the report."""
    for analysis in ANALYSES:
        parts: Parts = analysis.load(analysis.report)
        yield parts


def write_figures(inputs: ReportInputs, folder: Path) -> list[Path]:
    """Write every analysis's figures as SVG and PNG, each where there is something to draw, and return their paths."""
    about = Context.of(inputs)
    return sorted(path for parts in every_part() for path in parts.figures(about, folder))


def more_terms(inputs: ReportInputs) -> tuple[Term, ...]:
    """Return the terms that a run's further sections need."""
    about = Context.of(inputs)
    return tuple(term for parts in every_part() for term in parts.terms(about))
