"""The paper's values, and tables as the paper prints them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

import pandas as pd

_NAMES = tuple(f"{owner}bert-base-{case}" for owner in ("google-bert/", "") for case in ("uncased", "cased"))
_SHAPE = {"kind": "encoder", "layers": 12, "heads": 12}
# Translated in one pass, because an escaped backslash would be escaped again. In LaTeX's default encoding `<`, `>` and
# `|` print as other characters.
_LATEX = str.maketrans(
    {
        **{sign: f"${sign}$" for sign in "<>|"},
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        "−": "$-$",
        "→": r"$\rightarrow$",
        "±": r"$\pm$",
        "’": "'",
        '"': "''",
    }
)
_LAYOUTS = (
    (46, "table", r"\small"),
    (92, "table*", r"\small"),
    (116, "table*", r"\footnotesize"),
    (150, "table*", r"\scriptsize"),
)
"""Number of characters that fit in a line, the environment (one column of 3.3 inches, or both), and the font size."""


def paper_numbers() -> dict[str, Any]:
    """Return the numbers of Clark et al. 2019 that the project stores."""
    numbers: dict[str, Any] = json.loads((files("headscope") / "data" / "clark2019.json").read_text(encoding="utf-8"))
    return numbers


def is_bert_base(manifest: Mapping[str, Any]) -> bool:
    """Return True if a run's model is the paper's BERT-base, by its name on the hub and its shape.

    A local folder may have any name, and the shape alone fits many models.
    """
    model = manifest["signature"]["model"]
    return (
        model.get("origin") == "hub"
        and str(model["name"]).lower() in _NAMES
        and model["family"] == "bert"
        and list(manifest["kinds"]) == [_SHAPE]
    )


def _latex(text: str) -> str:
    r"""Escape text for LaTeX in its default encoding; characters outside Latin-1 become their code points.

    A bracket at the start of a cell would be read as an option of the preceding `\\`.
    """
    return ("{}" if text.startswith(("[", "*")) else "") + "".join(
        letter if letter.isascii() or "\xa1" <= letter <= "\xff" else rf"\texttt{{U+{ord(letter):04X}}}"
        for letter in text.translate(_LATEX)
    )


@dataclass(frozen=True)
class PaperColumn:
    """A printed column.

    Attributes:
        title: title above the column.
        text: formats a row of the table's frame, as text (not LaTeX yet).
        align: `l`, `c` or `r`.
    """

    title: str
    text: Callable[[dict[str, Any]], str]
    align: str = "r"


@dataclass(frozen=True)
class PaperTable:
    """A table for a paper, with this run's numbers.

    Attributes:
        name: name of its file and its label: `table-1` to `table-3` are those of Clark et al. 2019.
        caption: contents of the table and how they were measured.
        frame: the numbers: shares from 0 to 1, NaN where nothing was measured or tested.
        columns: the printed columns.
    """

    name: str
    caption: str
    frame: pd.DataFrame
    columns: tuple[PaperColumn, ...]

    def rows(self) -> list[list[str]]:
        """Return the printed rows, one text per column: percent, and `not tested` where there was no test."""
        lines = [{str(name): value for name, value in row.items()} for row in self.frame.to_dict("records")]
        return [[column.text(line) for column in self.columns] for line in lines]

    def to_latex(self) -> str:
        r"""Return a LaTeX `table` with a caption and a label; the document needs `\usepackage{booktabs}`.

        A table that is wider than one of two columns is a `table*`, which goes across both.
        """
        align = "".join(column.align for column in self.columns)
        rows = self.rows()
        head = " & ".join(map(_latex, (column.title for column in self.columns)))
        body = [" & ".join(map(_latex, row)) + r" \\" for row in rows]
        lines_of_cells = [[column.title for column in self.columns], *rows]
        letters = sum(2 + max(map(len, cells)) for cells in zip(*lines_of_cells, strict=True))
        _, table, size = next((layout for layout in _LAYOUTS if letters <= layout[0]), _LAYOUTS[-1])
        lines = [
            r"% needs \usepackage{booktabs}",
            rf"\begin{{{table}}}",
            r"\centering",
            size,
            r"\setlength{\tabcolsep}{3pt}",
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            rf"{head} \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{_latex(self.caption)}}}",
            rf"\label{{tab:headscope-{self.name.removeprefix('table-')}}}",
            rf"\end{{{table}}}",
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
