"""What every analysis writes or explains, put together."""

from __future__ import annotations

from pathlib import Path

from headscope.analyses.for_report import every_part
from headscope.reporting.kit.report_parts import Context, Term


def write_figures(about: Context, folder: Path) -> list[Path]:
    """Write every analysis's figures, each where there is something to draw, and return their files' paths."""
    return sorted(path for parts in every_part() for path in parts.figures(about, folder))


def more_terms(about: Context) -> tuple[Term, ...]:
    """Return the terms that a run's further sections need."""
    given = [
        parts for parts in every_part() if any(about.run.table(name) is not None for name in parts.explained)
    ]
    return tuple(term for parts in given for term in parts.terms)
