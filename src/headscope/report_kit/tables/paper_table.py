"""A table as a paper prints it: numbers in a data frame and a CSV file, words and numbers in LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import isnan
from typing import Any

import pandas as pd

from headscope.report_kit.numbers import joined, offset_words, points, q_words
from headscope.report_kit.tables.cells import Cell

# A backslash first would be escaped again: all at once.
_LATEX = str.maketrans(
    {
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        "−": "$-$",
        "→": r"$\rightarrow$",
        "’": "'",
    }
)


@dataclass(frozen=True)
class PaperColumn:
    """A column as it is printed.

    Attributes:
        title: above it.
        text: of a row of the table's frame, as text (not LaTeX yet).
        align: `l`, `c` or `r`.
    """

    title: str
    text: Callable[[dict[str, Any]], str]
    align: str = "r"


@dataclass(frozen=True)
class PaperTable:
    """One of the paper's tables, of this run's numbers.

    Attributes:
        number: which of the paper's tables it is.
        caption: what stands there and how it was measured.
        frame: the numbers, a row a line: shares from 0 to 1, NaN where nothing was measured or tested.
        columns: as they are printed.
    """

    number: int
    caption: str
    frame: pd.DataFrame
    columns: tuple[PaperColumn, ...]

    def rows(self) -> list[list[str]]:
        """Return the lines as they are printed, a text a column: percent, and `not tested` where nothing was."""
        lines = [{str(name): value for name, value in row.items()} for row in self.frame.to_dict("records")]
        return [[column.text(line) for column in self.columns] for line in lines]

    def to_latex(self) -> str:
        r"""Return a LaTeX `table` with a caption and a label; the document needs `\usepackage{booktabs}`."""
        align = "".join(column.align for column in self.columns)
        head = " & ".join(column.title.translate(_LATEX) for column in self.columns)
        body = [" & ".join(cell.translate(_LATEX) for cell in row) + r" \\" for row in self.rows()]
        lines = [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            r"\small",
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            rf"{head} \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{self.caption.translate(_LATEX)}}}",
            rf"\label{{tab:headscope-{self.number}}}",
            r"\end{table}",
        ]
        return "\n".join(lines) + "\n"

    def to_csv(self) -> str:
        """Return the frame as CSV: shares from 0 to 1, an empty field where nothing was measured or tested."""
        return self.frame.to_csv(index=False, lineterminator="\n")

    def _repr_html_(self) -> str:
        def line(cells: Sequence[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        head = line([column.title for column in self.columns], "th")
        body = "".join(line(row, "td") for row in self.rows())
        return f"<table>{head}{body}</table><p>{escape(self.caption)}</p>"


def interval_columns(name: str, cell: Cell | None) -> dict[str, float]:
    """Return a number with its interval as three columns of a frame: `name`, `name_ci_low`, `name_ci_high`."""
    nothing = float("nan")
    if cell is None:
        return {name: nothing, f"{name}_ci_low": nothing, f"{name}_ci_high": nothing}
    return {name: cell.value, f"{name}_ci_low": cell.ci_low, f"{name}_ci_high": cell.ci_high}


def percent_column(title: str, name: str, *, signed: bool = False) -> PaperColumn:
    """Print a share in percent with its interval in brackets, `75.2 (72.9–77.4)`; a dash where it is missing."""

    def text(row: dict[str, Any]) -> str:
        value, low, high = (float(row[each]) for each in (name, f"{name}_ci_low", f"{name}_ci_high"))
        between = joined(low, high)
        return points(value, signed=signed) + (f" ({between})" if between and not isnan(value) else "")

    return PaperColumn(title, text)


def words_column(title: str, name: str) -> PaperColumn:
    """Print a text; nothing where there is none."""
    return PaperColumn(title, lambda row: "" if pd.isna(row[name]) else str(row[name]), "l")


def count_column(title: str, name: str) -> PaperColumn:
    """Print a whole number, `1,211`; a dash where it is missing."""
    return PaperColumn(title, lambda row: "–" if pd.isna(row[name]) else f"{int(row[name]):,}")


def offset_column(title: str, name: str) -> PaperColumn:
    """Print an offset with its sign, `+1`."""
    return PaperColumn(title, lambda row: offset_words(None if pd.isna(row[name]) else int(row[name])))


def q_column(title: str, name: str, *, never: Callable[[dict[str, Any]], bool]) -> PaperColumn:
    """Print a q, or `not tested`; a dash in rows of which none is ever asked."""
    return PaperColumn(title, lambda row: "–" if never(row) else q_words(float(row[name])))
