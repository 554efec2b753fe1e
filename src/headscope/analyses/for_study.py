"""What the analyses add to a study, gathered over their list."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headscope.analyses import ANALYSES
from headscope.analyses.study_parts import HeadMeasures, Read, StudyParts
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


def head_columns(read: Read) -> pd.DataFrame:
    """Put what the analyses say of single heads side by side: a row for each head, a column for each measure.

    Args:
        read: returns a table by its name, None where the run did not make it.

    Returns:
        The columns `kind layer head`, 1-based, and those that `HeadMeasures` name and `further` makes; NaN where a head
        has no such number.
    """
    parts = []
    for own in _every_part():
        parts += [_columns(measures, rows) for measures, rows in _measured(own, read)]
        parts += [found] if (found := own.further(read)) is not None else []
    parts = [each for each in parts if len(each)]
    if not parts:
        return pd.DataFrame({name: [] for name in _PLACE})
    return pd.concat(parts, axis=1).reset_index().astype({"layer": "int64", "head": "int64"})


def _measured(parts: StudyParts, read: Read) -> Iterator[tuple[HeadMeasures, pd.DataFrame]]:
    """Yield what is said of single heads, with the rows that say it."""
    for measures in parts.heads:
        table = read(measures.table)
        if table is None:
            continue
        own = table[table["head"].notna()]
        for column, value in measures.where.items():
            own = own[own[column] == value]
        yield measures, own.astype({"layer": "int64", "head": "int64"})


def _columns(measures: HeadMeasures, own: pd.DataFrame) -> pd.DataFrame:
    """Lay a table's numbers of single heads out, indexed by `kind layer head`."""
    parts: dict[str, pd.Series] = {}
    # What is missing in a name is a value of its own: the norm of all that a row writes is of no class of token.
    groups = own.groupby(list(measures.by), sort=False, dropna=False) if measures.by else [((), own)]
    for names, rows in groups:
        for value in measures.values:
            parts[measures.named(names, value)] = rows.set_index(_PLACE)[value]
    return pd.DataFrame(parts)


def shown(read: Read) -> dict[HeadNumber, list[str]] | None:
    """List what each head shows, by the name of its column in `study.heads`, in the order of the report.

    Args:
        read: returns a table by its name, None where the run did not make it.

    Returns:
        By (kind, layer, head), 1-based; heads that show nothing are left out. None where nothing was held to it.
    """
    found: dict[HeadNumber, list[str]] = {}
    looked = False
    for parts in _every_part():
        for measures, own in _measured(parts, read):
            if not measures.verdict:
                continue
            looked = True
            for row in own[own[measures.verdict] == "yes"].to_dict("records"):
                name = measures.named([row[column] for column in measures.by])
                found.setdefault((row["kind"], row["layer"], row["head"]), []).append(name)
    return found if looked else None


def finders(read: Read) -> dict[HeadNumber, list[str]] | None:
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
