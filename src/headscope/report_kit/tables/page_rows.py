"""The tables behind the figures, as rows of text for the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan

import numpy as np

from headscope.report_kit.kinds import Kind
from headscope.report_kit.numbers import DASH, ends, table_number
from headscope.report_kit.tables.page_parts import folded
from headscope.report_kit.words import Words, capital
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


def layer_table(kind: Kind, statistics: Sequence[str], words: Words, *, name: str) -> Table | None:
    """Tabulate the layers' means of `statistics`, each with its interval, uniform value and n; None if none occurs."""
    present = [statistic for statistic in statistics if kind.occurs(statistic)]
    if not present:
        return None
    rows = []
    for layer in range(1, kind.layers + 1):
        row = [kind.layer_name(layer)]
        for statistic in present:
            cell = kind.cell(statistic, layer)
            row += [
                table_number(cell.value, statistic),
                ends(cell, partial(table_number, statistic=statistic), missing=DASH),
                table_number(cell.uniform, statistic),
                f"{cell.n:,}",
            ]
        rows.append(tuple(row))
    return Table(
        summary=f"Table: the mean over heads in each layer{kind.in_brackets}",
        groups=(("", 1), *((f"{capital(words.statistics[statistic])}, {unit(statistic)}", 4) for statistic in present)),
        header=("layer", *("mean", "95% interval", "uniform", "n") * len(present)),
        rows=tuple(rows),
        name=name,
    )


def role_table(kinds: Sequence[Kind], words: Words) -> Table:
    """Tabulate the number of heads with each role, and their layers."""
    rows = []
    for kind in kinds:
        grid = np.array(kind.roles, dtype=object).reshape(kind.layers, kind.heads_per_layer)
        for role, label in words.roles.items():
            has_role = grid == role
            if has_role.any():
                layers = [f"{layer} ({int(has_role[layer - 1].sum())})" for layer in range(1, kind.layers + 1)
                          if has_role[layer - 1].any()]  # fmt: skip
                rows.append((kind.name, capital(label), f"{int(has_role.sum()):,}", ", ".join(layers)))
    header = ("attention", "role", "heads", "in layer (heads)")
    first = 0 if len(kinds) > 1 else 1  # a model's only kind needs no column
    return Table(
        summary="Table: how many heads have each role, and where",
        header=header[first:],
        rows=tuple(row[first:] for row in rows),
        name="table-roles",
        words=(2,) if first else (1, 3),
    )
