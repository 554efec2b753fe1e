"""Figure 5 of the paper: a head on a sentence, with the words of one relation and their attention in colour."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from headscope.encoding.token_names import SPECIAL_NAMES
from headscope.figures.arc_strokes import FAINT, MOST_TOKENS, ArcStrokes, arcs_of
from headscope.figures.labels import label
from headscope.figures.style import INK, SOFT, figure_of, house_style, new_figure, role_colour
from headscope.palette import palette

LONGEST_WORD = 14
ROW_INCHES = 0.19
CALLED = {"right": "another, right", "wrong": "a wrong one"}


def arc_panel(
    example: pd.Series,
    *,
    title: str = "",
    colour: str | None = None,
    special: Collection[str] = SPECIAL_NAMES,
    hide_special: bool = False,
    rows: int | None = None,
    ax: Axes | None = None,
    most: int = MOST_TOKENS,
) -> Figure:
    """Draw one example: opacity is the weight, coloured lines belong to coloured words, a cross is a wrong choice.

    Args:
        example: a row of a table of sentences with gold arcs, and its `role` where the relation's name does not tell.
        title: above the drawing.
        colour: of the relation's words; by default that of the role.
        special: what the model's special tokens are called.
        hide_special: whether attention from and to them is left out, and they are.
        rows: how many words there is room for, so that panels side by side have lines of one height; at least its own.
        ax: where to draw; made when not given.
        most: how many words are drawn of a longer example.
    """
    arcs = arcs_of(example, special=special, most=most)
    tall = max(rows or 0, len(arcs.tokens))
    own = colour or role_colour(_role(example))
    with house_style():
        if ax is None:
            ax = new_figure(3.3, ROW_INCHES * tall + 0.75).subplots()
        lines = [one for one in arcs.strokes() if not (hide_special and one.special)]
        rgba = [
            (*to_rgb(own if one.strong else SOFT), min(one.weight, 1.0) * (1.0 if one.strong else FAINT))
            for one in lines
        ]
        ends = [((0.0, float(one.query)), (1.0, float(one.key))) for one in lines]
        ax.add_collection(
            LineCollection(ends, colors=rgba, linewidths=1.5, capstyle="round", gid="attention")
        )
        missed = [
            ((0.0, float(arc[0])), (1.0, float(arc[1])))
            for arc, wrong in zip(arcs.arcs, arcs.chosen)
            if wrong is not None
        ]
        ax.add_collection(
            LineCollection(missed, colors=own, linewidths=1.0, linestyles=(0, (2, 2)), gid="missed")
        )
        _words(ax, arcs, own, hide_special=hide_special)
        ax.set_xlim(-0.8, 1.8)
        ax.set_ylim(tall - 0.4, -0.6)
        ax.set_axis_off()
        ax.set_title(title)
        if arcs.total > len(arcs.tokens):
            note = f"words {arcs.first + 1}–{arcs.first + len(arcs.tokens)} of {arcs.total}"
            ax.text(0, 0, note, transform=ax.transAxes, fontsize=8, color=SOFT, va="top")
        return figure_of(ax)


def _role(example: pd.Series) -> str:
    """Return whose colour an example has: its own, or where it names none that of its relation, else of syntax."""
    relation = str(example["relation"])
    return str(example.get("role") or (relation if relation in palette().roles else "syntax"))


def _words(ax: Axes, arcs: ArcStrokes, colour: str, *, hide_special: bool) -> None:
    sides = (("query", arcs.queries, -0.04, "right"), ("key", arcs.keys, 1.04, "left"))
    for side, coloured, x, align in sides:
        for place, token in enumerate(arcs.tokens):
            if hide_special and place in arcs.special:
                continue
            written, own = label(token, LONGEST_WORD), place in coloured
            if (side, place) in arcs.mistaken:
                written = f"✗ {written}" if side == "query" else f"{written} ✗"
            ax.text(
                x, place, written, ha=align, va="center", fontsize=9, parse_math=False,
                color=colour if own else INK, fontweight="bold" if own else "normal",
            )  # fmt: skip


def arc_diagram(
    examples: pd.DataFrame,
    *,
    titles: Mapping[str, str] | None = None,
    special: Collection[str] = SPECIAL_NAMES,
    hide_special: bool = False,
    most: int = MOST_TOKENS,
) -> Figure:
    """Draw figure 5: a row a relation in the order of the table, its right examples and then the wrong one.

    Args:
        examples: rows of `tables/arc_examples.parquet`.
        titles: relation to the title of its first panel; `Head 3-1 · obj` where it is not named.
        special: what the model's special tokens are called.
        hide_special: whether attention from and to them is left out.
        most: how many words are drawn of a longer example.

    Raises:
        ValueError: there is no example.
    """
    if examples.empty:
        raise ValueError(
            "Expected at least one example of a relation, got none; run with a treebank or coreference."
        )
    groups = {
        str(name): sorted((row for _, row in rows.iterrows()), key=lambda row: str(row["outcome"]))
        for name, rows in examples.groupby("relation", sort=False)
    }
    columns = max(len(rows) for rows in groups.values())
    heights = [max(min(len(row["tokens"]), most) for row in rows) for rows in groups.values()]
    with house_style():
        inches = sum(ROW_INCHES * height + 0.8 for height in heights)
        figure = new_figure(3.4 * columns, inches)
        figure.set_layout_engine("constrained", h_pad=0.1)
        ratios = [ROW_INCHES * height + 0.8 for height in heights]
        grid = figure.subplots(len(groups), columns, squeeze=False, gridspec_kw={"height_ratios": ratios})
        for (name, rows), tall, line in zip(groups.items(), heights, grid):
            for place, ax in enumerate(line):
                if place >= len(rows):
                    ax.set_axis_off()
                    continue
                row = rows[place]
                plain = f"Head {row['layer']}-{row['head']} · {label(name, 24)}"
                first = (titles or {}).get(name, plain)
                title = first if place == 0 else CALLED.get(str(row["outcome"]), "")
                arc_panel(
                    row, title=title, special=special, hide_special=hide_special, rows=tall, ax=ax, most=most
                )
        return figure
