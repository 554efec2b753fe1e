"""The tables behind the figures, as rows of text for the page."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan

from headscope.report_kit.tables.page_parts import folded
from headscope.statistics.statistic_catalog import is_share
from headscope.views.markup import Html, el, raw


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
