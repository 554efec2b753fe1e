"""A table of rows as text and HTML: once for the page and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan, nan
from types import MappingProxyType
from typing import Any

from headscope.present.blocks import Row, TableBlock, has_value
from headscope.present.cells import NO_NUMBER, Cell, Runs
from headscope.present.linked_sentences import HeadRef
from headscope.present.numbers import (
    DASH,
    HYPHEN,
    correlation,
    ends,
    formatted,
    joined,
    nats,
    offset_words,
    points,
    q_words,
    rounded,
    share,
    span,
    table_number,
    thousandths,
    two_decimals,
)
from headscope.present.page_tables import Grid, folded, scale, scrolled, strip, unit
from headscope.present.report_parts import Context
from headscope.present.words import plain
from headscope.views.markup import Child, Html, el
from headscope.visible import count

TERMINAL_ROWS = 10
"""Number of rows of a folded table in a terminal."""


@dataclass(frozen=True)
class CellText:
    """The text of a table's cell.

    Attributes:
        text: the text.
        below: details, in small print below it; a terminal shows those of few forms, in brackets.
        html: what the page shows in place of the text.
        class_: class of the cell.
    """

    text: str
    below: str = ""
    html: Html | None = None
    class_: str | None = None


def _of_cell(write: Callable[[float], str]) -> Callable[[Any], CellText]:
    return lambda value: CellText(write(value.value if isinstance(value, Cell) else float(value)))


def _ends_of(write: Callable[[float], str], between: str = "–") -> Callable[[Any], CellText]:
    """Return the form of an interval alone, or of the mark for a missing one."""
    return lambda cell: CellText(ends(cell, write, between=between, missing=DASH))


def _nats(value: float) -> str:
    return nats(value).replace("-", "−")


def _whole(value: float) -> str:
    return formatted(100 * value, ".0f")


def _runs(runs: Runs) -> CellText:
    return CellText(share(runs.mean), joined(runs.lowest, runs.highest) if runs.seeds > 1 else "")


def _emphasized(cell: Cell, is_strong: bool, spread: float = nan) -> CellText:
    around = "" if isnan(spread) else f"± {points(spread)}"
    value, below = share(cell.value), " ".join(filter(None, (ends(cell), around)))
    return CellText(value, below, html=el("b", value) + el("small", below) if is_strong and below else None)


def _head(head: HeadRef | str, below: str = "") -> CellText:
    if isinstance(head, str):
        return CellText(head, below)
    small = el("small", below, class_="often") if below else Html()
    return CellText(head.text, below, html=head.link + small)


def _short(value: float) -> str:
    return rounded(value, whole_from=100.0)


def _pictured(value: Cell | Runs | str, *, role: str = "mixed", strong: bool = False) -> CellText:
    if isinstance(value, str):
        return CellText(value, class_="picture")
    if isinstance(value, Runs):
        text, drawn = _runs(value), strip(NO_NUMBER, control=value, role=role)
    else:
        text, drawn = CellText(share(value.value), ends(value)), strip(value, role=role)
    below = el("small", text.below, class_="beside") if text.below else Html()
    html = el("b" if strong else "span", text.text) + " " + below + drawn
    return CellText(text.text, text.below, html=html, class_="picture")


FORMS: Mapping[str, Callable[[Any], CellText]] = MappingProxyType(
    {
        "text": lambda value: CellText(plain(value), class_="words way"),
        "short_text": CellText,
        # text with details below it, or a linked head
        "detail": lambda value: _head(*value),
        "head": lambda head: CellText(head.text),
        # a head linked to its card, with details below it
        "head_link": lambda value: _head(*value),
        "count": lambda number: CellText(f"{int(number):,}"),
        "tenths": _of_cell(lambda value: f"{value:.1f}"),
        "offset": lambda offset: CellText(offset_words(offset)),
        "rounded": _of_cell(rounded),
        # a share in percent; with its 95% interval below; in bold if it is strong, with a spread over seeds if it has
        # one; the interval alone
        "share": _of_cell(share),
        "share_ends": lambda cell: CellText(share(cell.value), ends(cell)),
        "emphasized": lambda value: _emphasized(*value),
        "ends": _ends_of(share),
        "ends_to": _ends_of(share, between=" to "),
        "two_decimals": _of_cell(two_decimals),
        "decimal_ends": _ends_of(two_decimals, between=" to "),
        # a share of an offset, with the offset below it
        "offset_share": lambda value: CellText(share(value[0].value), offset_words(value[1])),
        # a difference of shares in points, with its interval below
        "points": lambda cell: CellText(points(cell.value, signed=True), ends(cell, between=" to ")),
        # the mean over random draws, with their range below
        "runs": _runs,
        "q": lambda q: CellText(q if isinstance(q, str) else q_words(q)),
        "two_decimal_ends": _ends_of(two_decimals),
        # a number without decimals from 100 up, and its 95% interval
        "short": _of_cell(_short),
        "short_ends": _ends_of(_short, between=" to "),
        # a number and the name of its statistic: 75.2 %
        "statistic": lambda value: CellText(f"{table_number(*value)} {unit(value[1])}"),
        # a picture of a head's accuracy beside its baseline and control; nothing in a terminal
        "strip": lambda options: CellText("", html=strip(**options), class_="picture"),
        # two heads linked to their cards
        "pair": lambda heads: CellText(
            " and ".join(head.text for head in heads), html=heads[0].link + " and " + heads[1].link
        ),
        # a divergence in nats; its interval alone
        "nats": _of_cell(nats),
        "nats_ends": lambda cell: CellText(span(cell.ci_low, cell.ci_high) or DASH),
        # a number with two decimals and its interval below, or text in place of both; with three decimals
        "decimals_and_ends": lambda value: (
            CellText(value)
            if isinstance(value, str)
            else CellText(two_decimals(value.value), ends(value, two_decimals))
        ),
        "three_decimals": _of_cell(partial(formatted, form=".3f")),
        # a share with its interval and its spread over seeds below
        "share_spread": lambda value: _emphasized(value[0], False, value[1]),
        "correlation": _of_cell(correlation),
        "correlation_ends": _ends_of(correlation),
        "three_digits": lambda value: CellText(formatted(float(value), "#.3g")),
        # an accuracy with its interval beside it and its picture below it
        "pictured": lambda value: _pictured(value[0], **value[1]),
        # the number of inputs behind a number
        "n": lambda cell: CellText(f"{cell.n:,}"),
        "thousandths": _of_cell(thousandths),
        "thousandths_ends": _ends_of(thousandths),
        # nats of three decimals, more near 0
        "precise": _of_cell(_nats),
        "precise_ends": _ends_of(_nats, between=" to "),
        # a share in whole percent
        "whole": _of_cell(_whole),
        "whole_ends": _ends_of(_whole, between=" to "),
        # a share as a number of cases: 2 of 4
        "hits": lambda cell: CellText(f"{round(cell.value * cell.n)} of {cell.n}"),
    }
)
"""How a field is written: name of the form -> its function."""
_WORDS = ("text", "detail")


Columns = Sequence[tuple[str, tuple[str, str]]]
"""The title of each column, with its field and form."""


def html_of(block: TableBlock, about: Context) -> Html | None:
    """Return the table for the page; None if it has no rows, or a folded one no column besides their names."""
    rows = block.rows(about)
    if not rows:
        return None
    groups = block.shown_columns(rows)
    columns = [column for group in groups.values() for column in group.items()]
    if block.unfolded or block.class_:
        titles, bodies = _grouped(rows, columns)
    elif len(columns) > 1:
        titles, bodies = _plain(_ordered(block, rows), columns)
    else:
        return None
    spans = [
        el("th", title, colspan=len(group), scope="colgroup") if title else el("td", colspan=len(group))
        for title, group in groups.items()
    ]
    head = el("thead", el("tr", spans) if len(groups) > 1 else None, el("tr", titles))
    if block.unfolded:
        return scrolled(el("table", head, bodies, id=block.name, class_=block.class_), block.summary)
    whole = not block.class_ and columns[0][0] == "layer"
    table = el("table", head, bodies, id=block.name, class_=block.class_, data_whole=whole)
    note = f"{block.summary}, {block.first}" if block.first and not block.class_ else block.summary
    return folded(table, note, opened=block.opened and not block.class_)


def _plain(rows: Sequence[Row], columns: Columns) -> tuple[list[Html], list[Html]]:
    """Return the titles, and a body whose cells have no small print."""
    words = [None, *("words" if form in _WORDS else None for _, (_, form) in columns[1:])]
    titles = [el("th", title, scope="col", class_=class_) for (title, _), class_ in zip(columns, words, strict=True)]
    lines = []
    for row in rows:
        name, *texts = [cell.text if cell.html is None else cell.html for cell in _cells(row, columns)]
        cells = [el("td", text, class_=class_) for text, class_ in zip(texts, words[1:], strict=True)]
        lines.append(el("tr", el("th", name, scope="row"), cells))
    return titles, [el("tbody", lines)]


def _grouped(rows: Sequence[Row], columns: Columns) -> tuple[list[Html], list[Html]]:
    """Return the titles, and a body for each group of rows, whose cells have small print."""
    titles = []
    for title, (_, form) in columns:
        if form == "pictured":
            titles.append(el("th", title, scale(), scope="col", class_="picture"))
        elif title:
            titles.append(el("th", title, scope="col", class_="words" if form in _WORDS else None))
        else:
            titles.append(el("td", scale(), class_="picture"))
    groups: dict[str, list[Html]] = {}
    for row in rows:
        name, *cells = _cells(row, columns)
        line = [el("td", _small_print(cell), class_=cell.class_) for cell in cells]
        groups.setdefault(row.get("group") or "", []).append(
            el("tr", el("th", _small_print(name), scope="row"), line, class_="weak" if row.get("weak") else None)
        )
    bodies = []
    for title, lines in groups.items():
        heading = el("tr", el("th", title, colspan=len(columns), scope="rowgroup", class_="group")) if title else None
        bodies.append(el("tbody", heading, lines))
    return titles, bodies


def _small_print(cell: CellText) -> Html | list[Child]:
    return [cell.text, el("small", cell.below) if cell.below else None] if cell.html is None else cell.html


def terminal_table(
    block: TableBlock, about: Context, *, keep: Callable[[Row], bool] | None = None
) -> tuple[str, Grid] | None:
    """Return a line on the table and its first rows, all of one unfolded or by layer; None as for the page.

    Args:
        block: the table.
        about: report context of the run.
        keep: function that returns True for rows that are shown; all if not given.
    """
    rows = block.rows(about)
    if not rows:
        return None
    groups = block.shown_columns(rows)
    columns = [
        (f"{group}: {title}" if group else title, column)
        for group, columns in groups.items()
        for title, column in columns.items()
        if column[1] != "strip"
    ]
    if len(columns) < 2:
        return None
    kept = [row for row in _ordered(block, rows) if keep is None or keep(row)]
    titles = [title for title, _ in columns]
    first = kept if block.unfolded or block.complete or "layer" in titles else kept[:TERMINAL_ROWS]
    forms = [form for _, (_, form) in columns]
    text = [list(map(_terminal, _cells(row, columns), forms)) for row in first]
    words = [title for title, form in zip(titles, forms, strict=True) if form in _WORDS]
    notes = [block.summary, block.first, f"{len(first)} of {count(len(rows), 'row')}" if len(first) < len(rows) else ""]
    return f"{', '.join(filter(None, notes))}:", Grid(titles, text, words=words)


def _terminal(cell: CellText, form: str) -> str:
    """Return a cell for a terminal, where small print is left out but for the intervals that matter most."""
    text = (
        f"{cell.text} ({cell.below})"
        if cell.below and form in ("emphasized", "offset_share", "pictured")
        else cell.text
    )
    return text.replace(DASH, HYPHEN).replace("−", HYPHEN)


def _ordered(block: TableBlock, rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows in the order of the table, those without a number last."""
    return sorted(rows, key=lambda row: -_size(row, block.order)) if block.order else rows


def _cells(row: Row, columns: Columns) -> list[CellText]:
    known = [(row.get(name), form) for _, (name, form) in columns]
    return [FORMS[form](value) if has_value(value) else CellText(DASH) for value, form in known]


def _size(row: Row, name: str) -> float:
    value = row.get(name)
    number = value.value if isinstance(value, Cell) else float("nan") if value is None else float(value)
    return float("-inf") if isnan(number) else number
