"""A table as a paper prints it: numbers in a data frame and a CSV file, words and numbers in LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import pandas as pd

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
