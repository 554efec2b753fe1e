"""A table of rows as text and HTML: once for the page and the terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from headscope.present.page_tables import Grid, Table, folded, numbered, page_table, scrolled, strip, unit
from headscope.present.report_parts import Context
from headscope.present.words import plain
from headscope.views.markup import Html, el
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


def html_of(block: TableBlock, about: Context) -> Html | None:
    """Return the table for the page; None if it has no rows."""
    if block.unfolded or block.class_:
        return _grouped(block, about)
    table = folded_table(block, about)
    return None if table is None else table.html()


def folded_table(block: TableBlock, about: Context) -> Table | None:
    """Return the table as the page folds it; None if it has no rows, or no column besides their names."""
    rows = block.rows(about)
    if not rows:
        return None
    groups = block.shown_columns(rows)
    columns = [column for group in groups.values() for column in group.items()]
    if len(columns) < 2:
        return None
    return Table(
        summary=block.summary,
        groups=tuple((title, len(group)) for title, group in groups.items()) if len(groups) > 1 else (),
        header=tuple(title for title, _ in columns),
        rows=tuple(tuple(_shown(_cell(row, *column)) for _, column in columns) for row in rows),
        name=block.name,
        words=tuple(index for index, (_, (_, form)) in enumerate(columns) if form in _WORDS),
        opened=block.opened,
        matters=tuple(_size(row, block.order) for row in rows) if block.order else (),
        first=block.first,
    )


def _shown(cell: CellText) -> str:
    return cell.text if cell.html is None else cell.html


def _grouped(block: TableBlock, about: Context) -> Html | None:
    rows = block.rows(about)
    if not rows:
        return None
    shown = block.shown_columns(rows)
    columns = [column for group in shown.values() for column in group.items()]
    groups: dict[str, list[Html]] = {}
    for row in rows:
        cells = [_cell(row, *column) for _, column in columns]
        groups.setdefault(row.get("group") or "", []).append(
            el("tr", _row_title(cells[0]), map(_html_cell, cells[1:]), class_="weak" if row.get("weak") else None)
        )
    words, pictures = ([title for title, (_, form) in columns if form in forms] for forms in (_WORDS, ("pictured",)))
    spans = [
        el("th", title, colspan=len(group), scope="colgroup") if title else el("td", colspan=len(group))
        for title, group in shown.items()
    ]
    table = page_table(
        [title for title, _ in columns], groups, name=block.name, class_=block.class_, words=words, pictures=pictures,
        above=el("tr", spans) if len(shown) > 1 else None,
    )  # fmt: skip
    return scrolled(table, block.summary) if block.unfolded else folded(table, block.summary)


def _row_title(cell: CellText) -> Html:
    below = el("small", cell.below) if cell.below else None
    return el("th", [cell.text, below] if cell.html is None else cell.html, scope="row")


def _html_cell(cell: CellText) -> Html:
    if cell.html is not None:
        return el("td", cell.html, class_=cell.class_)
    return el("td", cell.text, class_=cell.class_) if cell.class_ else numbered(cell.text, cell.below)


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
    ordered = sorted(rows, key=lambda row: -_size(row, block.order)) if block.order else rows
    groups = block.shown_columns(rows)
    columns = {
        f"{group}: {title}" if group else title: column
        for group, columns in groups.items()
        for title, column in columns.items()
        if column[1] != "strip"
    }
    if len(columns) < 2:
        return None
    kept = ordered if keep is None else [row for row in ordered if keep(row)]
    first = kept if block.unfolded or block.complete or "layer" in columns else kept[:TERMINAL_ROWS]
    text = [[_terminal(_cell(row, *column), column[1]) for column in columns.values()] for row in first]
    words = [title for title, (_, form) in columns.items() if form in _WORDS]
    notes = [block.summary, block.first, f"{len(first)} of {count(len(rows), 'row')}" if len(first) < len(rows) else ""]
    return f"{', '.join(filter(None, notes))}:", Grid(list(columns), text, words=words)


def _terminal(cell: CellText, form: str) -> str:
    """Return a cell for a terminal, where small print is left out but for the intervals that matter most."""
    text = (
        f"{cell.text} ({cell.below})"
        if cell.below and form in ("emphasized", "offset_share", "pictured")
        else cell.text
    )
    return text.replace(DASH, HYPHEN).replace("−", HYPHEN)


def _cell(row: Row, name: str, form: str) -> CellText:
    value = row.get(name)
    return FORMS[form](value) if has_value(value) else CellText(DASH)


def _size(row: Row, name: str) -> float:
    value = row.get(name)
    number = value.value if isinstance(value, Cell) else float("nan") if value is None else float(value)
    return float("-inf") if isnan(number) else number
