"""The figures and terms of all analyses together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headscope.analyses.for_report import drawings_of, every_part
from headscope.figures.paper import on_paper
from headscope.figures.saving import save
from headscope.report_kit.report_parts import Context, Parts, Term


def write_figures(
    about: Context, folder: Path, *, width: float | None = None, font: str = "", forms: Sequence[str] = ("svg",)
) -> list[Path]:
    """Write every analysis's figures, if there is something to draw, and return their files' paths.

    Args:
        about: the run.
        folder: folder for the files.
        width: width of every figure in inches, for a paper; by default each figure has its own.
        font: typeface of their text; by default that of pages.
        forms: formats, among `svg`, `png` and `pdf`; a page needs only the first, and each takes time.
    """
    paths: list[Path] = []
    with on_paper(width, font=font):
        for file, draw in drawings_of(about).items():
            paths += save(draw(), folder, file, forms=forms)
    return sorted(paths)


def more_terms(about: Context) -> tuple[Term, ...]:
    """Return the terms that a run's further sections need."""
    return tuple(term for parts in every_part() for term in terms_of(about, parts))


def terms_of(about: Context, parts: Parts) -> Sequence[Term]:
    """Return the terms of an analysis; empty if the run has none of the tables that they explain."""
    if all(about.run.tables.get(name) is None for name in parts.explained):
        return ()
    return parts.terms(about) if callable(parts.terms) else parts.terms
