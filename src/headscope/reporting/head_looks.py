"""Attention targets of the heads of a run, if heads are explained."""

from __future__ import annotations

from headscope.analyses.for_report import every_part
from headscope.report_kit.head_looks import UNEXPLAINED, HeadLook
from headscope.report_kit.kinds import Kind, kinds_of
from headscope.study.once_a_study import once_a_study
from headscope.study.study import Study


@once_a_study
def _known(run: Study) -> dict[str, dict[int, HeadLook]]:
    return {
        kind.name: {index: look for parts in every_part() for index, look in parts.looks(run, kind).items()}
        for kind in kinds_of(run)
    }


def is_explained(run: Study) -> bool:
    """Return True if the run explained heads; otherwise heads are colored by their roles."""
    return any(_known(run).values())


def looks_of(run: Study, kind: Kind) -> list[HeadLook]:
    """Return the attention target of each head of a kind, in head order; heads without data are unexplained."""
    known, nothing = _known(run)[kind.name], HeadLook(color=UNEXPLAINED, explained=float("nan"), sink=float("nan"))
    return [known.get(index, nothing) for index in range(kind.size)]
