"""Parts of a page's tables: headers, groups of rows, cells with a number and its details, and folds."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from headscope.report_kit.pictures.strip import scale
from headscope.views.markup import Html, el


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
