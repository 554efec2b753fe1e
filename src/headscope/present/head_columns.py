"""Columns of `study.heads`, behaviors and relations of heads, collected over the list of analyses."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from headscope.scans.declarations.analysis_list import ANALYSES
from headscope.scans.declarations.head_measures import HeadMeasures
from headscope.statistics.roles import finds
from headscope.statistics.tables.frames import is_true
from headscope.visible import count

Read = Callable[[str], pd.DataFrame | None]
"""Returns a table by its name, None if the run did not write it."""
HeadNumber = tuple[str, int, int]
_HEAD = ["kind", "layer", "head"]


def summaries(manifest: Mapping[str, Any]) -> list[str]:
    """Return descriptions of a run's input besides text, in a few words each."""
    return [
        size.says.format(count(manifest[size.corpus][size.number], size.unit))
        for analysis in ANALYSES
        for size in analysis.counts
        if manifest.get(size.corpus)
    ]


def head_columns(read: Read) -> pd.DataFrame:
    """Join the analyses' numbers of single heads: a row for each head, a column for each measure.

    Args:
        read: returns a table by its name, None if the run did not write it.

    Returns:
        The columns `kind layer head`, 1-based, those of `Analysis.head_measures` and of `more_columns`; NaN for heads
        without such a number.
    """
    tables = []
    for analysis in ANALYSES:
        for measures in analysis.head_measures:
            if (rows := rows_of(measures, read)) is not None:
                columns = {
                    measures.column_name(analysis.name, names, value): group.set_index(_HEAD)[value]
                    for names, group in groups_of(measures, rows).items()
                    for value in measures.values
                }
                tables.append(pd.DataFrame(columns))
        if analysis.more_columns and (more := analysis.load(analysis.more_columns)(read)) is not None:
            tables.append(more.add_prefix(f"{analysis.name}."))
    tables = [table for table in tables if len(table)]
    if not tables:
        return pd.DataFrame({name: [] for name in _HEAD})
    return pd.concat(tables, axis=1).reset_index().astype({"layer": "int64", "head": "int64"})


def head_intervals(read: Read, name: str) -> pd.DataFrame | None:
    """Return a column of `study.heads` with its 95% interval: `value`, `ci_low` and `ci_high` by kind, layer and head.

    Args:
        read: returns a table by its name, None if the run did not write it.
        name: name of the column.

    Returns:
        None if the run has no such column, or no interval for it.
    """
    for analysis in ANALYSES:
        for measures in analysis.head_measures:
            value, rows = measures.values[0], rows_of(measures, read)
            for names, group in groups_of(measures, rows).items() if rows is not None and "ci_low" in rows else ():
                if measures.column_name(analysis.name, names, value) == name:
                    return group.set_index(_HEAD)[[value, "ci_low", "ci_high"]].rename(columns={value: "value"})
    return None


def rows_of(measures: HeadMeasures, read: Read) -> pd.DataFrame | None:
    """Return the rows of single heads that hold the measures; None if the run did not write their table."""
    table = read(measures.table)
    if table is None:
        return None
    rows = table[table["head"].notna()]
    for column, value in measures.where.items():
        rows = rows[rows[column] == value]
    return rows.astype({"layer": "int64", "head": "int64"})


def groups_of(measures: HeadMeasures, rows: pd.DataFrame) -> dict[tuple[Any, ...], pd.DataFrame]:
    """Return the rows by the values of `by`, None for a missing one: a measure over all tokens has no class."""
    if not measures.by:
        return {(): rows}
    return {
        tuple(None if missing else name for name, missing in zip(names, pd.isna(list(names)), strict=True)): group
        for names, group in rows.groupby(list(measures.by), sort=False, dropna=False)
    }


def verdicts_by_head(read: Read) -> dict[HeadNumber, list[str]] | None:
    """Return the behaviors that each head shows, by their column names in `study.heads`, in the order of the report.

    Args:
        read: returns a table by its name, None if the run did not write it.

    Returns:
        By (kind, layer, head), 1-based; heads without behaviors are omitted. None if there were no tests.
    """
    tested = [
        (analysis, measures, rows)
        for analysis in ANALYSES
        for measures in analysis.head_measures
        if measures.verdict and (rows := rows_of(measures, read)) is not None
    ]
    names_by_head: dict[HeadNumber, list[str]] = {}
    for analysis, measures, rows in tested:
        for row in rows[is_true(rows[measures.verdict])].to_dict("records"):
            name = measures.column_name(analysis.name, [row[column] for column in measures.by])
            names_by_head.setdefault((row["kind"], row["layer"], row["head"]), []).append(name)
    return names_by_head if tested else None


def finders(read: Read) -> dict[HeadNumber, list[str]] | None:
    """Return the relations that each head finds, in the order of the report.

    Args:
        read: returns a table by its name, None if the run did not write it.

    Returns:
        By (kind, layer, head), 1-based; heads that find nothing are omitted. None if no relations were tested.
    """
    every = [analysis.chosen_heads for analysis in ANALYSES if analysis.chosen_heads]
    tables = [(chosen, table) for chosen in every if (table := read(chosen.table)) is not None]
    names_by_head: dict[HeadNumber, list[str]] = {}
    for chosen, table in tables:
        for head, names in finds(table, by=chosen.by, name=chosen.name).items():
            names_by_head.setdefault(head, []).extend(names)
    return names_by_head if tables else None
