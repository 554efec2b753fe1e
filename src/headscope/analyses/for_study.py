"""What the analyses add to a study, gathered over their list."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from headscope.analyses.study_parts import HeadMeasures, Read, StudyParts
from headscope.declarations.analysis_list import ANALYSES
from headscope.statistics.boolean_columns import is_true
from headscope.statistics.roles import finds

HeadNumber = tuple[str, int, int]
_HEAD = ["kind", "layer", "head"]


def _every_study_part() -> Iterator[tuple[str, StudyParts]]:
    """Yield what each analysis adds, with the name of the analysis."""
    for analysis in ANALYSES:
        if analysis.study:
            parts: StudyParts = analysis.load(analysis.study)
            yield analysis.name, parts


def summaries(manifest: Mapping[str, Any]) -> list[str]:
    """Return descriptions of what a run read beside text, in a few words each."""
    return [words for _, parts in _every_study_part() for words in parts.summary(manifest)]


def head_columns(read: Read) -> pd.DataFrame:
    """Join the analyses' numbers of single heads: a row for each head, a column for each measure.

    Args:
        read: returns a table by its name, None where the run did not make it.

    Returns:
        The columns `kind layer head`, 1-based, those of `HeadMeasures` and those of `further`; NaN where a head has no
        such number.
    """
    tables = []
    for name, parts in _every_study_part():
        tables += [_columns(name, measures, rows) for measures, rows in _measured(parts, read)]
        if (further := parts.further(read)) is not None:
            tables.append(further.add_prefix(f"{name}."))
    tables = [table for table in tables if len(table)]
    if not tables:
        return pd.DataFrame({name: [] for name in _HEAD})
    return pd.concat(tables, axis=1).reset_index().astype({"layer": "int64", "head": "int64"})


def _measured(parts: StudyParts, read: Read) -> Iterator[tuple[HeadMeasures, pd.DataFrame]]:
    """Yield the declared measures of single heads, with the rows that hold them."""
    for measures in parts.heads:
        table = read(measures.table)
        if table is None:
            continue
        rows = table[table["head"].notna()]
        for column, value in measures.where.items():
            rows = rows[rows[column] == value]
        yield measures, rows.astype({"layer": "int64", "head": "int64"})


def _columns(analysis: str, measures: HeadMeasures, of_measure: pd.DataFrame) -> pd.DataFrame:
    """Pivot a table's numbers of single heads, indexed by `kind layer head`."""
    columns: dict[str, pd.Series] = {}
    # A missing value counts as a group: the norm over all tokens has no class of token.
    groups = (
        of_measure.groupby(list(measures.by), sort=False, dropna=False) if measures.by else [((), of_measure)]
    )
    for names, group in groups:
        for value in measures.values:
            columns[measures.named(analysis, names, value)] = group.set_index(_HEAD)[value]
    return pd.DataFrame(columns)


def verdicts_by_head(read: Read) -> dict[HeadNumber, list[str]] | None:
    """List what each head shows, by the name of its column in `study.heads`, in the order of the report.

    Args:
        read: returns a table by its name, None where the run did not make it.

    Returns:
        By (kind, layer, head), 1-based; heads that show nothing are left out. None where nothing was tested.
    """
    names_by_head: dict[HeadNumber, list[str]] = {}
    any_verdict = False
    for analysis, parts in _every_study_part():
        for measures, rows in _measured(parts, read):
            if not measures.verdict:
                continue
            any_verdict = True
            for row in rows[is_true(rows[measures.verdict])].to_dict("records"):
                name = measures.named(analysis, [row[column] for column in measures.by])
                names_by_head.setdefault((row["kind"], row["layer"], row["head"]), []).append(name)
    return names_by_head if any_verdict else None


def finders(read: Read) -> dict[HeadNumber, list[str]] | None:
    """List the relations that each head finds, in the order of the report.

    Args:
        read: returns a table by its name, None where the run did not make it.

    Returns:
        By (kind, layer, head), 1-based; heads that find nothing are left out. None where nothing was looked for.
    """
    names_by_head: dict[HeadNumber, list[str]] = {}
    any_chosen = False
    for _, parts in _every_study_part():
        table = read(parts.chosen) if parts.chosen else None
        if table is None:
            continue
        any_chosen = True
        for head, names in finds(table, parts.named).items():
            names_by_head.setdefault(head, []).extend(names)
    return names_by_head if any_chosen else None
