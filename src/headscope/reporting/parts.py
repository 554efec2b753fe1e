"""What every analysis writes or explains, put together."""

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
    """Write every analysis's figures, each where there is something to draw, and return their files' paths.

    Args:
        about: the run.
        folder: of the files.
        width: of every figure, in inches, for a paper; by default each is as wide as it likes.
        font: of their text; by default that of pages.
        forms: of `svg`, `png` and `pdf`; a page needs the first alone, and each takes its time.
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
    """Return the terms of an analysis; none where the run has none of the tables that they explain."""
    return parts.terms if any(about.run.tables.get(name) is not None for name in parts.explained) else ()
