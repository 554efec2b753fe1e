"""Numbers as text, for sentences, tables and the terminal: shares, intervals, q, p, offsets, nats, thousandths.

This module has every function that writes a number for a reader. The page marks missing numbers with `DASH` and
negative numbers with a true minus sign; a terminal, which may lack both characters, gets `HYPHEN`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf, isnan
from typing import Any

import numpy as np
import pandas as pd

from headscope.present.cells import Cell
from headscope.present.paper_table import PaperColumn
from headscope.statistics.statistic_catalog import is_share

DASH, HYPHEN = "–", "-"


def formatted(value: float, form: str, *, missing: str = DASH) -> str:
    """Return a number in a form of `format`, or the mark for a missing one; `HYPHEN` for a terminal."""
    if isnan(value):
        return missing
    text = f"{value:{form}}"
    return text if missing == HYPHEN else text.replace("-", "−")


def share(value: float, *, missing: str = DASH) -> str:
    """Return a fraction as tables print it, `75.2`, or the mark for a missing one; `HYPHEN` for a terminal."""
    return formatted(100 * value, ".1f", missing=missing)


def points(value: float, *, signed: bool = False) -> str:
    """Return a difference of shares in points, `3.4`; `+3.4` with `signed`."""
    return formatted(100 * value, "+.1f" if signed else ".1f")


def joined(
    low: float, high: float, write: Callable[[float], str] = share, *, between: str = "–", missing: str = ""
) -> str:
    """Return the ends of an interval, each formatted by `write`; ` to ` between them if one has a minus sign."""
    if isnan(low) or isnan(high):
        return missing
    return f"{write(low)}{' to ' if low < 0 else between}{write(high)}"


def ends(cell: Cell, write: Callable[[float], str] = share, *, between: str = "–", missing: str = "") -> str:
    """Return the interval of a cell, `72.9–77.4`, or the mark for a missing one."""
    return joined(cell.ci_low, cell.ci_high, write, between=between, missing=missing)


def with_ends(cell: Cell, write: Callable[[float], str]) -> str:
    """Return a number with its interval in brackets, `12.3 (11.0 to 13.6)`."""
    interval_text = ends(cell, write, between=" to ")
    return write(cell.value) + (f" ({interval_text})" if interval_text else "")


def q_words(q: float) -> str:
    """Return a q-value: `<0.001`, `0.013`, or `not tested`."""
    if isnan(q):
        return "not tested"
    return "<0.001" if q < 0.001 else f"{q:.3f}"


def offset_words(offset: int | None) -> str:
    """Return an offset with its sign, `+1` or `−2`."""
    return DASH if offset is None else formatted(float(offset), "+.0f")


def two_decimals(value: float) -> str:
    """Return a number with two decimals."""
    return formatted(value, ".2f")


def nats(value: float) -> str:
    """Return a divergence with three decimals, `0.092`; below 0.01 with two significant digits, `0.00031`."""
    return f"{value:.3f}" if abs(value) >= 0.01 or value == 0 else f"{value:.2g}"


def span(low: float, high: float) -> str:
    """Return an interval, `0.091 to 0.093`, with one more digit if its ends would look equal; empty without one."""
    if isnan(low) or isnan(high):
        return ""
    shown = nats(low), nats(high)
    return f"{shown[0]} to {shown[1]}" if shown[0] != shown[1] else f"{low:.4f} to {high:.4f}"


def p_words(p: float) -> str:
    """Return a p with four decimals below 0.01, otherwise two."""
    return f"p = {p:.4f}" if p < 0.01 else f"p = {p:.2f}"


def accuracy_words(cell: Cell, *, long: bool = False) -> str:
    """Return an accuracy with its interval, `75.2% (72.9 to 77.4)`; `long` adds that it is the 95% interval."""
    if not cell.has_interval:
        return percent(cell.value, 1)
    what = "95% interval " if long else ""
    return f"{percent(cell.value, 1)} ({what}{100 * cell.ci_low:.1f} to {100 * cell.ci_high:.1f})"


def percent(share: float, decimals: int | None = None) -> str:
    """Return a fraction as `98%`, `1.3%` or `under 0.1%`: by default no decimals from 10% up, one below."""
    if decimals is None:
        decimals = 0 if abs(share) >= 0.0995 or share == 0 else 1
    shown = f"{100 * share:.{decimals}f}%"
    return f"under {10.0**-decimals:.{decimals}f}%" if share > 0 and float(shown[:-1]) == 0 else shown


def amount(value: float, statistic: str, decimals: int | None = None) -> str:
    """Return a value as in the report's sentences: percent for shares, `3.86 nats` for entropies."""
    return percent(value, decimals) if is_share(statistic) else f"{value:.2f} nats"


def interval_decimals(low: float, high: float) -> int:
    """Return the number of decimals for an interval in percent: one below 10% or if the ends would look equal."""
    return 1 if low < 0.0995 or f"{100 * low:.0f}" == f"{100 * high:.0f}" else 0


def interval(low: float, high: float, statistic: str) -> str:
    """Return `97 to 98`, or `97.6 to 97.9` if whole percents would look equal; empty without an interval."""
    if isnan(low) or isnan(high):
        return ""
    if not is_share(statistic):
        return f"{low:.2f} to {high:.2f}"
    decimals = interval_decimals(low, high)
    return f"{100 * low:.{decimals}f} to {100 * high:.{decimals}f}"


def table_number(value: float, statistic: str, *, missing: str = DASH) -> str:
    """Return a value as tables print it: percent with one decimal without its sign, nats with two."""
    return share(value, missing=missing) if is_share(statistic) else formatted(value, ".2f", missing=missing)


def bracketed_interval(low: float, high: float, *, form: str, scale: float = 1.0) -> str:
    """Return ` (2.31 to 2.35)`, each end times `scale`, to append to a number; empty without an interval."""
    return "" if isnan(low) else f" ({scale * low:{form}} to {scale * high:{form}})"


def rounded(value: float, *, whole_from: float = inf) -> str:
    """Return three significant digits below 1, two decimals above, and none from `whole_from` up."""
    if isnan(value):
        return DASH
    return f"{value:.3g}" if value < 1 else f"{value:.2f}" if value < whole_from else f"{value:.0f}"


def correlation(value: float) -> str:
    """Return a correlation with three decimals, or a dash if it is NaN."""
    return formatted(value, ".3f")


def thousandths(value: float) -> str:
    """Return a value in thousandths with three significant digits."""
    text = np.format_float_positional(1000 * value, precision=3, fractional=False, trim="k").rstrip(".")
    return text.replace("-", "−")


def two_digits(value: float) -> str:
    """Return a number for a terminal with two significant digits below 10, and whole from there."""
    return HYPHEN if isnan(value) else f"{value:.2g}" if value < 10 else f"{value:.0f}"


def json_numbers(values: np.ndarray) -> list[float | int | None]:
    """Return numbers for JSON: six decimals, null for NaN, whole ones without a point."""
    rounded = [None if np.isnan(value) else round(float(value), 6) for value in values]
    return [int(value) if value is not None and value == int(value) else value for value in rounded]


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
