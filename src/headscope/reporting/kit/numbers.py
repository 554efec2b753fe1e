"""Numbers as the page prints them: shares, intervals, q, p, offsets, nats."""

from __future__ import annotations

from math import isnan

from headscope.reporting.kit.cells import Cell
from headscope.reporting.kit.words import percent

DASH = "–"


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
