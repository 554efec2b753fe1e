"""Numbers as text, for sentences, tables and the terminal: shares, intervals, q, p, offsets, nats, thousandths.

Every function that writes a number for a reader stands here. The page marks what is missing with `DASH` and negative
numbers with a true minus sign; a terminal, which may lack both, gets `HYPHEN`.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isnan
from typing import Any

import numpy as np

from headscope.reporting.kit.tables.cells import Cell
from headscope.statistics.statistic_catalog import is_share

DASH, HYPHEN = "–", "-"


def share(value: float) -> str:
    """Return a fraction as tables print it, `75.2`, or a dash where it is null."""
    return DASH if isnan(value) else f"{100 * value:.1f}"


def ends(cell: Cell) -> str:
    """Return an interval, `72.9–77.4`, or nothing without one."""
    return f"{share(cell.ci_low)}–{share(cell.ci_high)}" if cell.has_interval else ""


def q_words(q: float) -> str:
    """Return a q-value: `<0.001`, `0.013`, or that nothing was tested."""
    if isnan(q):
        return "not tested"
    return "<0.001" if q < 0.001 else f"{q:.3f}"


def offset_words(offset: int | None) -> str:
    """Return an offset with its sign, `+1` or `−2`."""
    return DASH if offset is None else f"{offset:+d}".replace("-", "−")


def nats(value: float) -> str:
    """Return a divergence with three digits after the point, `0.092`; small ones with two that count, `0.00031`."""
    return f"{value:.3f}" if abs(value) >= 0.01 or value == 0 else f"{value:.2g}"


def span(low: float, high: float) -> str:
    """Return an interval, `0.091 to 0.093`, with a digit more where its ends would look the same; empty without one."""
    if isnan(low) or isnan(high):
        return ""
    shown = nats(low), nats(high)
    return f"{shown[0]} to {shown[1]}" if shown[0] != shown[1] else f"{low:.4f} to {high:.4f}"


def p_words(p: float) -> str:
    """Return a p with four digits after the point below 0.01, else two."""
    return f"p = {p:.4f}" if p < 0.01 else f"p = {p:.2f}"


def accuracy_words(cell: Cell, *, long: bool = False) -> str:
    """Return an accuracy with its interval, `75.2% (72.9 to 77.4)`; `long` says that it is the 95% interval."""
    if not cell.has_interval:
        return percent(cell.value, 1)
    what = "95% interval " if long else ""
    return f"{percent(cell.value, 1)} ({what}{100 * cell.ci_low:.1f} to {100 * cell.ci_high:.1f})"


def percent(share: float, decimals: int | None = None) -> str:
    """Return a fraction as `98%`, `1.3%` or `under 0.1%`: no decimals from 10% up, one below, unless told."""
    if decimals is None:
        decimals = 0 if abs(share) >= 0.0995 or share == 0 else 1
    shown = f"{100 * share:.{decimals}f}%"
    return f"under {10.0**-decimals:.{decimals}f}%" if share > 0 and float(shown[:-1]) == 0 else shown


def amount(value: float, statistic: str, decimals: int | None = None) -> str:
    """Return a value as the report's sentences write it: percent for shares, `3.86 nats` for entropies."""
    return percent(value, decimals) if is_share(statistic) else f"{value:.2f} nats"


def interval_decimals(low: float, high: float) -> int:
    """Return how many decimals the percents of an interval need: one below 10% or where none would show no width."""
    return 1 if low < 0.0995 or f"{100 * low:.0f}" == f"{100 * high:.0f}" else 0


def interval(low: float, high: float, statistic: str) -> str:
    """Return `97 to 98` or, where whole percents would show no width, `97.6 to 97.9`; empty without an interval."""
    if isnan(low) or isnan(high):
        return ""
    if not is_share(statistic):
        return f"{low:.2f} to {high:.2f}"
    decimals = interval_decimals(low, high)
    return f"{100 * low:.{decimals}f} to {100 * high:.{decimals}f}"


def table_number(value: float, statistic: str) -> str:
    """Return a value as tables print it: percent with one decimal without its sign, nats with two, `–` for null."""
    if isnan(value):
        return DASH
    return f"{100 * value:.1f}" if is_share(statistic) else f"{value:.2f}"


def percent_or_hyphen(value: float) -> str:
    """Write a share in percent without its sign, and what is not known as a hyphen: terminals may not have a dash."""
    return HYPHEN if isnan(value) else f"{100 * value:.1f}"


def interval_or_hyphen(row: Mapping[Any, Any], prefix: str = "") -> str:
    """Write a row's interval in percent, `72.9 to 77.4`, a hyphen for none."""
    low, high = row[f"{prefix}ci_low"], row[f"{prefix}ci_high"]
    return HYPHEN if isnan(low) else f"{100 * low:.1f} to {100 * high:.1f}"


def nats_to_four(value: float) -> str:
    """Write a divergence with four digits after the point, a digit more than the page; small ones with three."""
    return f"{value:.4f}" if abs(value) >= 0.01 or value == 0 else f"{value:.3g}"


def formatted(value: float, form: str) -> str:
    """Return a number in a form of `format`, or a dash where it is NaN."""
    return DASH if isnan(value) else f"{value:{form}}"


def formatted_or_hyphen(value: float, form: str) -> str:
    """Return a number for a terminal in a form of `format`, or a hyphen where it is NaN."""
    return HYPHEN if isnan(value) else f"{value:{form}}"


def bracketed_interval(low: float, high: float, *, form: str, scale: float = 1.0) -> str:
    """Return ` (2.31 to 2.35)`, each end times `scale`, as it follows a number; empty without an interval."""
    return "" if isnan(low) else f" ({scale * low:{form}} to {scale * high:{form}})"


def interval_or_dash(cell: Cell) -> str:
    """Return an interval with two digits after the point, `0.91 to 0.95`, or a dash without one."""
    return f"{cell.ci_low:.2f} to {cell.ci_high:.2f}" if cell.has_interval else DASH


def rounded(value: float, *, whole_from: float = inf) -> str:
    """Return three digits that count below 1, two digits after the point above, and none from `whole_from` up."""
    if isnan(value):
        return DASH
    return f"{value:.3g}" if value < 1 else f"{value:.2f}" if value < whole_from else f"{value:.0f}"


def correlation(value: float) -> str:
    """Return a correlation with three digits, or a dash where it is null."""
    return formatted(value, ".3f").replace("-", "−")


def thousandths(value: float) -> str:
    """Return a value in thousandths with three digits that count."""
    return np.format_float_positional(1000 * value, precision=3, fractional=False, trim="k").rstrip(".")


def thousandths_ends(cell: Cell) -> str:
    """Return an interval in thousandths, or a dash without one."""
    return f"{thousandths(cell.ci_low)}–{thousandths(cell.ci_high)}" if cell.has_interval else DASH


def statistic_ends(cell: Cell, statistic: str) -> str:
    """Return the interval of a statistic as tables print it, `97.8–98.0`, or a dash without one."""
    if not cell.has_interval:
        return DASH
    return f"{table_number(cell.ci_low, statistic)}–{table_number(cell.ci_high, statistic)}"


def nats_to_four_ends(low: float, high: float) -> str:
    """Return the interval of a divergence, `0.0912 to 0.0931`; empty without one."""
    return "" if isnan(low) else f"{nats_to_four(low)} to {nats_to_four(high)}"


def two_digits(value: float) -> str:
    """Return a number for a terminal with two digits that count below 10, and whole from there."""
    return HYPHEN if isnan(value) else f"{value:.2g}" if value < 10 else f"{value:.0f}"


def json_numbers(values: np.ndarray) -> list[float | int | None]:
    """Return numbers for JSON: six decimals, null for NaN, whole ones without a point."""
    rounded = [None if np.isnan(value) else round(float(value), 6) for value in values]
    return [int(value) if value is not None and value == int(value) else value for value in rounded]
