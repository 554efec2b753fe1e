"""Columns of the paper's tables in print: numbers with their intervals, words, tests."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import isnan
from typing import Any

import pandas as pd

from headscope.report_kit.numbers import joined, offset_words, points, q_words, share, two_decimals
from headscope.report_kit.tables.cells import Cell
from headscope.study.paper_table import PaperColumn


def interval_columns(name: str, cell: Cell | None) -> dict[str, float]:
    """Return a number with its interval as three columns of a frame: `name`, `name_ci_low`, `name_ci_high`."""
    nothing = float("nan")
    if cell is None:
        return {name: nothing, f"{name}_ci_low": nothing, f"{name}_ci_high": nothing}
    return {name: cell.value, f"{name}_ci_low": cell.ci_low, f"{name}_ci_high": cell.ci_high}


def says_intervals(frame: pd.DataFrame) -> str:
    """Return the part of a caption on intervals; empty if the run has none."""
    has = frame.filter(regex="_ci_low$").notna().any(axis=None)
    return ", with 95% intervals over documents" if has else ""


def percent_column(title: str, name: str, *, signed: bool = False) -> PaperColumn:
    """Return a column of shares in percent with intervals in brackets, `75.2 (72.9–77.4)`; a dash for missing ones."""
    return _with_interval(title, name, partial(points, signed=signed), share)


def number_column(title: str, name: str) -> PaperColumn:
    """Return a column of numbers with two decimals and intervals in brackets; a dash for missing ones."""
    return _with_interval(title, name, two_decimals, two_decimals)


def _with_interval(
    title: str, name: str, write: Callable[[float], str], write_end: Callable[[float], str]
) -> PaperColumn:
    def text(row: dict[str, Any]) -> str:
        value, low, high = (float(row[each]) for each in (name, f"{name}_ci_low", f"{name}_ci_high"))
        between = joined(low, high, write_end)
        return write(value) + (f" ({between})" if between and not isnan(value) else "")

    return PaperColumn(title, text)


def words_column(title: str, name: str) -> PaperColumn:
    """Return a column of text; empty for missing text."""
    return PaperColumn(title, lambda row: "" if pd.isna(row[name]) else str(row[name]), "l")


def count_column(title: str, name: str) -> PaperColumn:
    """Return a column of whole numbers, `1,211`; a dash for missing ones."""
    return PaperColumn(title, lambda row: "–" if pd.isna(row[name]) else f"{int(row[name]):,}")


def offset_column(title: str, name: str) -> PaperColumn:
    """Return a column of offsets with sign, `+1`."""
    return PaperColumn(title, lambda row: offset_words(None if pd.isna(row[name]) else int(row[name])))


def q_column(title: str, name: str, *, never: Callable[[dict[str, Any]], bool]) -> PaperColumn:
    """Return a column of q-values, or `not tested`; a dash in rows for which there is never a test."""
    return PaperColumn(title, lambda row: "–" if never(row) else q_words(float(row[name])))
