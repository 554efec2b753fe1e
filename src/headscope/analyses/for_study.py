"""What the analyses add to a study, gathered over their list."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from headscope.analyses import ANALYSES
from headscope.analyses.study_parts import StudyParts
from headscope.statistics.roles import finds

HeadNumber = tuple[str, int, int]


def _every_part() -> Iterator[StudyParts]:
    for analysis in ANALYSES:
        if analysis.study:
            parts: StudyParts = analysis.load(analysis.study)
            yield parts


def summaries(manifest: Mapping[str, Any]) -> list[str]:
    """Return what a run read beside text, in a few words each."""
    return [said for parts in _every_part() for said in parts.summary(manifest)]


def finders(read: Callable[[str], pd.DataFrame | None]) -> dict[HeadNumber, list[str]] | None:
    """List what each head finds, in the order of the report.

    Args:
        read: returns a table by its name, None where the run did not make it.

    Returns:
        By (kind, layer, head), 1-based; heads that find nothing are left out. None where nothing was looked for.
    """
    found: dict[HeadNumber, list[str]] = {}
    looked = False
    for parts in _every_part():
        table = read(parts.chosen) if parts.chosen else None
        if table is None:
            continue
        looked = True
        for head, names in finds(table, parts.named).items():
            found.setdefault(head, []).extend(names)
    return found if looked else None
