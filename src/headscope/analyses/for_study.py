"""What the analyses add to a study, gathered over their list."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pandas as pd

from headscope.analyses import ANALYSES
from headscope.analyses.study_parts import HeadMeasures, StudyParts
from headscope.statistics.roles import finds

HeadNumber = tuple[str, int, int]
_PLACE = ["kind", "layer", "head"]


def _every_part() -> Iterator[StudyParts]:
    for analysis in ANALYSES:
        if analysis.study:
            parts: StudyParts = analysis.load(analysis.study)
            yield parts


def summaries(manifest: Mapping[str, Any]) -> list[str]:
    """Return what a run read beside text, in a few words each."""
    return [said for parts in _every_part() for said in parts.summary(manifest)]


def head_columns(read: Callable[[str], pd.DataFrame | None]) -> pd.DataFrame:
    """Put what the analyses say of single heads side by side: a row for each head, a column for each measure.

    Args:
        read: returns a table by its name, None where the run did not make it.

    Returns:
        The columns `kind layer head`, 1-based, and those that `HeadMeasures` name; NaN where a head has no such number.
    """
    parts = [
        _columns(measures, table)
        for own in _every_part()
        for measures in own.heads
        if (table := read(measures.table)) is not None
    ]
    parts = [each for each in parts if len(each)]
    if not parts:
        return pd.DataFrame({name: [] for name in _PLACE})
    return pd.concat(parts, axis=1).reset_index().astype({"layer": "int64", "head": "int64"})


def _columns(measures: HeadMeasures, table: pd.DataFrame) -> pd.DataFrame:
    """Lay a table's numbers of single heads out, indexed by `kind layer head`."""
    own = table[table["head"].notna()]
    for column, value in measures.where.items():
        own = own[own[column] == value]
    own = own.astype({"layer": "int64", "head": "int64"})
    parts: dict[str, pd.Series] = {}
    groups = own.groupby(list(measures.by), sort=False) if measures.by else [((), own)]
    for names, rows in groups:
        for value in measures.values:
            named = [measures.first, *map(str, names), value if len(measures.values) > 1 else ""]
            parts[" ".join(filter(None, named))] = rows.set_index(_PLACE)[value]
    return pd.DataFrame(parts)


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
