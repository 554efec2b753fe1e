"""A table of rows as text: once for the page and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isnan
from types import MappingProxyType
from typing import Any

from headscope.present.blocks import Row, TableBlock, has_value
from headscope.report_kit.numbers import DASH, HYPHEN, ends, rounded, share, two_decimals
from headscope.report_kit.tables.cells import Cell
from headscope.report_kit.tables.page_rows import Table
from headscope.report_kit.tables.terminal import Grid
from headscope.report_kit.words import plain

TERMINAL_ROWS = 10
"""Number of rows of a table in a terminal."""


def _of_cell(write: Callable[[float], str]) -> Callable[[Any], str]:
    return lambda value: write(value.value if isinstance(value, Cell) else float(value))


FORMS: Mapping[str, Callable[[Any], str]] = MappingProxyType(
    {
        "text": plain,
        "head": lambda head: head.text,
        "count": lambda number: f"{int(number):,}",
        "share": _of_cell(share),
        "rounded": _of_cell(rounded),
        # the 95% interval of a number
        "share_ends": partial(ends, missing=DASH),
        "ends": partial(ends, write=two_decimals, between=" to ", missing=DASH),
    }
)
"""How a field is written: name of the form -> its function."""
_WORDS = ("text", "head")


def page_table(block: TableBlock) -> Table | None:
    """Return the table as the page folds it; None if it has no rows."""
    rows = block.rows()
    if not rows:
        return None
    groups = _with_values(block, rows)
    columns = [column for group in groups.values() for column in group.items()]
    return Table(
        summary=block.summary,
        groups=tuple((title, len(group)) for title, group in groups.items()) if len(groups) > 1 else (),
        header=tuple(title for title, _ in columns),
        rows=tuple(tuple(_text(row, *column) for _, column in columns) for row in rows),
        name=block.name,
        words=tuple(index for index, (_, (_, form)) in enumerate(columns) if form in _WORDS),
        matters=tuple(_size(row, block.order) for row in rows) if block.order else (),
        first=block.first,
    )


def terminal_table(block: TableBlock, *, most: int = TERMINAL_ROWS) -> tuple[Grid, int] | None:
    """Return the first rows of the table in its order, and the number of all rows; None if it has none."""
    table = page_table(block)
    if table is None:
        return None
    first = [[cell.replace(DASH, HYPHEN).replace("−", HYPHEN) for cell in row] for row in table.ordered_rows[:most]]
    spans = [title for title, span in table.groups or (("", len(table.header)),) for _ in range(span)]
    titles = [f"{group}: {title}" if group else title for group, title in zip(spans, table.header, strict=True)]
    words = [titles[index] for index in table.words]
    return Grid(titles, first, words=words), len(table.rows)


def _with_values(block: TableBlock, rows: Sequence[Row]) -> Mapping[str, Mapping[str, tuple[str, str]]]:
    """Return the columns, by group, in which any row has a value."""
    kept = {
        group: {
            title: column for title, column in columns.items() if any(has_value(row.get(column[0])) for row in rows)
        }
        for group, columns in block.columns.items()
    }
    return {group: columns for group, columns in kept.items() if columns}


def _text(row: Row, name: str, form: str) -> str:
    value = row.get(name)
    return FORMS[form](value) if has_value(value) else DASH


def _size(row: Row, name: str) -> float:
    value = row.get(name)
    number = value.value if isinstance(value, Cell) else float("nan") if value is None else float(value)
    return float("-inf") if isnan(number) else number
