"""Tables of a page and of a terminal: rows, groups, cells with details, folds, captions, and rows as pictures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from headscope.present.cells import Cell, Runs
from headscope.statistics.statistic_catalog import is_share
from headscope.views.markup import Child, Html, el


def scrolled(table: Html, label: str) -> Html:
    """Return a table in a box with its own horizontal scrolling, also by keyboard."""
    return el("div", table, class_="scroll", tabindex=0, role="group", aria_label=label)


def folded(table: Html, summary: str, *, opened: bool = False) -> Html:
    """Return a table folded below a line that summarizes it; `opened` is True if it is unfolded at first."""
    return el("details", el("summary", summary), scrolled(table, summary), open=opened)


def unit(statistic: str) -> str:
    """Return the unit for a table's header."""
    return "%" if is_share(statistic) else "nats"


@dataclass(frozen=True)
class Grid:
    """A table of text, the first column of which names the rows.

    Attributes:
        titles: titles of the columns.
        rows: cells of the rows.
        words: titles of further columns of words, which are left-aligned; numbers are right-aligned.
    """

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: Collection[str] = ()


def caption(*words: Child) -> Html | None:
    """Return a caption; None if it has no text."""
    return el("p", words, class_="caption") if any(words) else None


def captioned(parts: Child, *notes: Html | None) -> Html:
    """Return a figure or table together with its explanation next to it.

    Args:
        parts: a figure, a table, or the sentences above a table that is as wide as the page.
        notes: captions, in order; None is skipped.
    """
    return el("div", el("div", parts), el("div", notes, class_="notes"), class_="captioned")


WIDTH, HEIGHT = 200, 18
EDGE = 6


def strip(
    accuracy: Cell,
    *,
    baseline: Cell | None = None,
    control: Runs | None = None,
    strong: bool = True,
    role: str = "syntax",
) -> Html:
    """Return the picture of one row, 0% on its left and 100% on its right.

    Args:
        accuracy: accuracy of the head; a full dot on its interval.
        baseline: accuracy of the best fixed offset; a tick on its interval.
        control: a hollow dot at the mean of its seeds, on their range.
        strong: True if the head significantly beats the offset; otherwise the dot is hollow and gray.
        role: role that gives the dot its color.
    """
    middle = HEIGHT / 2
    parts: list[Html] = [_line("rail", 0.0, 1.0, middle)]
    parts += [_tall("notch", share) for share in (0.0, 0.5, 1.0)]
    if control is not None:
        parts.append(_line("range", control.lowest, control.highest, middle))
        parts.append(el("circle", cx=_x(control.mean), cy=middle, r="3.6", class_="control"))
    if baseline is not None and baseline.exists:
        if baseline.has_interval:
            parts.append(_line("spread", baseline.ci_low, baseline.ci_high, middle))
        parts.append(_tall("offset", baseline.value))
    if accuracy.exists:
        if accuracy.has_interval:
            parts.append(_line("ends", accuracy.ci_low, accuracy.ci_high, middle))
        parts.append(el("circle", cx=_x(accuracy.value), cy=middle, r="4", class_="dot"))
    classes = f"strip-row role-{role}" if strong else f"strip-row weak role-{role}"
    return el("svg", parts, class_=classes, viewBox=f"0 0 {WIDTH} {HEIGHT}", aria_hidden="true")


def scale() -> Html:
    """Return the header of a column of strips: 0, 50 and 100%."""
    # Not part of an SVG, in which the text would shrink with the picture.
    return el("div", [el("span", words) for words in ("0", "50", "100%")], class_="strip-scale", aria_hidden="true")


def _x(share: float) -> str:
    return f"{EDGE + (WIDTH - 2 * EDGE) * min(max(share, 0.0), 1.0):.1f}"


def _line(name: str, low: float, high: float, y: float) -> Html:
    return el("path", d=f"M{_x(low)} {y:g}H{_x(high)}", class_=name)


def _tall(name: str, share: float) -> Html:
    reach = 2.5 if name == "notch" else 6.5
    return el("path", d=f"M{_x(share)} {HEIGHT / 2 - reach:g}v{2 * reach:g}", class_=name)
