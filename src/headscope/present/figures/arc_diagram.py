"""Figure 5 of the paper: a head on a sentence, with the words of one relation and their attention in color."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from textwrap import fill

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from headscope.attention.head_id import head_label
from headscope.encoding.tokenizer.token_names import SPECIAL_NAMES
from headscope.palette import palette
from headscope.present.figures.arc_strokes import FAINT, MOST_TOKENS, ArcStrokes, arcs_of
from headscope.present.figures.style import (
    INK,
    PAGE_INCHES,
    SOFT,
    across,
    figure_of,
    house_style,
    label,
    new_figure,
    role_color,
)

LONGEST_WORD = 14
ROW_INCHES = 0.19
PANEL_INCHES = 2.3
"""Width of a panel among several: three are as wide as a two-column page."""
SMALL = 7.0
"""Font size of the words in a panel among several, in points."""
SMALL_ROW, ABOVE = 0.15, 0.55
"""Inches in a panel among several: the height of a word's row, and the space above the rows."""
TITLE_COLUMNS = 34
CALLED = {"right": "another, right", "wrong": "a wrong one"}


@house_style()
def arc_panel(
    example: pd.Series,
    *,
    special: Collection[str] = SPECIAL_NAMES,
    hide_special: bool = False,
    rows: int | None = None,
    ax: Axes | None = None,
    most: int = MOST_TOKENS,
    size: float = 9.0,
) -> Figure:
    """Draw one example: opacity is the weight, colored lines belong to colored words, a cross is a wrong choice.

    Args:
        example: a row of a table of sentences with gold arcs, with its `role` if the relation does not determine it.
        special: names of the model's special tokens.
        hide_special: True to leave out special tokens and the attention from and to them.
        rows: number of words to leave room for, so that adjacent panels have equal line heights; at least its own.
        ax: axes to draw on; created if None.
        most: maximum number of words drawn of a longer example.
        size: font size of the words, in points.
    """
    arcs = arcs_of(example, special=special, most=most)
    tall = max(rows or 0, len(arcs.tokens))
    relation_color = role_color(_role(example))
    ax = ax or new_figure(3.3, ROW_INCHES * tall + 0.75).subplots()
    lines = [stroke for stroke in arcs.strokes() if not (hide_special and stroke.special)]
    rgba = [
        (
            *to_rgb(relation_color if stroke.strong else SOFT),
            min(stroke.weight, 1.0) * (1.0 if stroke.strong else FAINT),
        )
        for stroke in lines
    ]
    ends = [((0.0, float(stroke.query)), (1.0, float(stroke.key))) for stroke in lines]
    ax.add_collection(LineCollection(ends, colors=rgba, linewidths=1.5, capstyle="round", gid="attention"))
    missed = [
        ((0.0, float(arc[0])), (1.0, float(arc[1]))) for arc, wrong in zip(arcs.arcs, arcs.chosen) if wrong is not None
    ]
    ax.add_collection(
        LineCollection(missed, colors=relation_color, linewidths=1.0, linestyles=(0, (2, 2)), gid="missed")
    )
    _words(ax, arcs, relation_color, hide_special=hide_special, size=size)
    ax.set_xlim(-0.8, 1.8)
    ax.set_ylim(tall - 0.4, -0.6)
    ax.set_axis_off()
    if arcs.total > len(arcs.tokens):
        note = f"words {arcs.first + 1}–{arcs.first + len(arcs.tokens)} of {arcs.total}"
        ax.text(0, 0, note, transform=ax.transAxes, fontsize=8, color=SOFT, va="top")
    return figure_of(ax)


def _role(example: pd.Series) -> str:
    """Return the role that colors an example: its `role`, else its relation if that has a color, else syntax."""
    relation = str(example["relation"])
    return str(example.get("role") or (relation if relation in palette().roles else "syntax"))


def _words(ax: Axes, arcs: ArcStrokes, color: str, *, hide_special: bool, size: float) -> None:
    sides = (("query", arcs.queries, -0.04, "right"), ("key", arcs.keys, 1.04, "left"))
    for side, colored, x, align in sides:
        for position, token in enumerate(arcs.tokens):
            if hide_special and position in arcs.special:
                continue
            written, marked = label(token, LONGEST_WORD), position in colored
            if (side, position) in arcs.mistaken:
                written = f"✗ {written}" if side == "query" else f"{written} ✗"
            ax.text(
                x, position, written, ha=align, va="center", fontsize=size, parse_math=False,
                color=color if marked else INK, fontweight="bold" if marked else "normal",
            )  # fmt: skip


@house_style()
def arc_diagram(
    examples: pd.DataFrame,
    *,
    titles: Mapping[str, str] | None = None,
    special: Collection[str] = SPECIAL_NAMES,
    hide_special: bool = False,
    most: int = MOST_TOKENS,
) -> Figure:
    """Draw figure 5: one row per relation in the order of the table, its right examples and then the wrong one.

    Args:
        examples: rows of `tables/arc_examples.parquet`.
        titles: relation -> title of its first panel, broken into lines; `Head 3-1 · obj` if it is missing.
        special: names of the model's special tokens.
        hide_special: True to leave out attention from and to special tokens.
        most: maximum number of words drawn of a longer example.

    Raises:
        ValueError: `examples` is empty.
    """
    if examples.empty:
        raise ValueError("Expected at least one example of a relation, got none; run with a treebank or coreference.")
    groups = _groups(examples)
    columns = across(max(len(rows) for rows in groups.values()), each=PANEL_INCHES)
    lines = [
        (name, start, rows[start : start + columns])
        for name, rows in groups.items()
        for start in range(0, len(rows), columns)
    ]
    inches = [_inches(rows, most) for _, _, rows in lines]
    figure = new_figure(PANEL_INCHES * columns, sum(inches))
    grid = figure.subplots(len(lines), columns, squeeze=False, gridspec_kw={"height_ratios": inches})
    for (name, start, rows), line in zip(lines, grid):
        tall = _rows(rows, most)
        for index, ax in enumerate(line):
            if index >= len(rows):
                ax.set_axis_off()
                continue
            row = rows[index]
            plain = f"Head {head_label(row['layer'], row['head'])} · {label(name, 24)}"
            first = fill((titles or {}).get(name, plain), TITLE_COLUMNS)
            arc_panel(
                row, special=special, hide_special=hide_special, rows=tall, ax=ax, most=most, size=SMALL,
            )  # fmt: skip
            title = first if start + index == 0 else CALLED.get(str(row["outcome"]), "")
            ax.set_title(title, fontsize=8.5, pad=4)
    return figure


def arc_pages(examples: pd.DataFrame, *, most: int = MOST_TOKENS) -> list[pd.DataFrame]:
    """Split the examples of figure 5 into pages no higher than a paper page, keeping relations whole and in order."""
    pages: list[list[str]] = []
    left = 0.0
    for name, rows in _groups(examples).items():
        columns = across(len(rows), each=PANEL_INCHES)
        inches = sum(_inches(rows[at : at + columns], most) for at in range(0, len(rows), columns))
        if not pages or inches > left:
            pages.append([])
            left = PAGE_INCHES
        pages[-1].append(name)
        left -= inches
    return [examples[examples["relation"].astype(str).isin(names)] for names in pages]


def _groups(examples: pd.DataFrame) -> dict[str, list[pd.Series]]:
    return {
        str(name): sorted((row for _, row in rows.iterrows()), key=lambda row: str(row["outcome"]))
        for name, rows in examples.groupby("relation", sort=False)
    }


def _rows(rows: list[pd.Series], most: int) -> int:
    return max(min(len(row["tokens"]), most) for row in rows)


def _inches(rows: list[pd.Series], most: int) -> float:
    return SMALL_ROW * _rows(rows, most) + ABOVE
