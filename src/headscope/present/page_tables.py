"""Tables of a page and of a terminal: rows, groups, cells with details, folds, captions, and rows as pictures."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import isnan

from headscope.present.cells import Cell, Runs
from headscope.statistics.statistic_catalog import is_share
from headscope.views.markup import Child, Html, el, raw


def page_table(
    titles: Sequence[str],
    groups: Mapping[str, Sequence[Html]],
    *,
    name: str,
    class_: str | None = None,
    words: Collection[str] = (),
    pictures: Collection[str] = (),
    above: Html | None = None,
) -> Html:
    """Return a table of the page.

    Args:
        titles: titles of its columns; an empty one is the scale of `strip`.
        groups: its rows below titles that span all columns; an empty title and a group without rows are skipped.
        name: its id in the page.
        class_: its class.
        words: titles of text columns.
        pictures: titles of columns of numbers with a `strip`, whose scale stands below the title.
        above: a line above the titles.
    """
    header = [
        el("th", title, scale(), scope="col", class_="picture")
        if title in pictures
        else el("th", title, scope="col", class_="words" if title in words else None)
        if title
        else el("td", scale(), class_="picture")
        for title in titles
    ]
    bodies = [group_body(title, rows, columns=len(titles)) for title, rows in groups.items() if rows]
    return el("table", el("thead", above, el("tr", header)), bodies, id=name, class_=class_)


def group_body(title: str, rows: Sequence[Html], *, columns: int) -> Html:
    """Return rows below a title that spans all columns; an empty title is skipped."""
    heading = el("tr", el("th", title, colspan=columns, scope="rowgroup", class_="group"))
    return el("tbody", heading if title else None, list(rows))


def numbered(value: str | Html, below: str = "", *more: Html | None) -> Html:
    """Return a cell with a number, its details in small print below, and more."""
    return el("td", value, el("small", below) if below else None, *more)


def scrolled(table: Html, label: str) -> Html:
    """Return a table in a box with its own horizontal scrolling, also by keyboard."""
    return el("div", table, class_="scroll", tabindex=0, role="group", aria_label=label)


def folded(table: Html, summary: str) -> Html:
    """Return a table folded below a line that summarizes it."""
    return el("details", el("summary", summary), scrolled(table, summary))


@dataclass(frozen=True)
class Table:
    """A table to be folded below a figure.

    Attributes:
        summary: description of the table, on its fold.
        header: the titles of the columns.
        rows: text, the first column the row's name; numbers are right-aligned.
        name: its id in the page.
        words: indices of the text columns.
        groups: a line above the header: (text, number of columns it spans).
        opened: True if it is unfolded when the page opens.
        matters: importance of each row, in the order of the rows: the page shows the rows with the largest numbers
            first. The rows keep their order if this is empty.
        first: description of that order, such as `longest first`.
    """

    summary: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    name: str
    words: tuple[int, ...] = (0,)
    groups: tuple[tuple[str, int], ...] = ()
    opened: bool = False
    matters: tuple[float, ...] = ()
    first: str = ""

    @property
    def ordered_rows(self) -> tuple[tuple[str, ...], ...]:
        """The rows in the order of the page; rows without a number come last."""
        if not self.matters:
            return self.rows
        ranked = sorted(zip(self.matters, self.rows, strict=True), key=lambda pair: (isnan(pair[0]), -pair[0]))
        return tuple(row for _, row in ranked)

    def html(self) -> Html:
        """Return the table, folded."""
        top = el(
            "tr",
            [
                el("th", label, colspan=span, scope="colgroup") if label else el("td", colspan=span)
                for label, span in self.groups
            ],
        )
        aligned = ["words" if column and column in self.words else None for column in range(len(self.header))]
        titles = zip(self.header, aligned, strict=True)
        bottom = el("tr", [el("th", label, scope="col", class_=class_) for label, class_ in titles])
        body = [
            el(
                "tr",
                [
                    el("th", cell, scope="row") if column == 0 else el("td", cell, class_=aligned[column])
                    for column, cell in enumerate(row)
                ],
            )
            for row in self.ordered_rows
        ]
        header = el("thead", top if self.groups else None, bottom)
        whole = self.header[0] == "layer"
        summary = f"{self.summary}, {self.first}" if self.first else self.summary
        html = folded(el("table", header, el("tbody", body), id=self.name, data_whole=whole), summary)
        return html.replace("<details>", raw("<details open>"), 1) if self.opened else html


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
