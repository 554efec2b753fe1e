"""Figure 1 of the paper: a head on a sentence, queries on the left, keys on the right, weight as darkness of a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from headscope.attention.head_id import head_label, kind_prefixes
from headscope.palette import palette
from headscope.present.figures.style import (
    INK,
    PAGE_INCHES,
    SOFT,
    across,
    figure_of,
    house_style,
    label,
    new_figure,
    paper_width,
    role_color,
)
from headscope.visible import capital

MOST_TOKENS = 30
FAINTEST = 0.012
"""Smallest weight that is drawn: lines of smaller weights would be invisible."""

COLUMNS = 3
PANEL_INCHES = 3.3
ROW_INCHES = 0.2


@dataclass(frozen=True)
class TokenWindow:
    """The drawn part of an example: its queries and keys, and the share of their attention inside."""

    queries: slice
    keys: slice
    inside: float


def weights_of(example: pd.Series) -> np.ndarray:
    """Return an example's weights as `[len(tokens), len(keys)]`, float64."""
    tokens, keys = list(example["tokens"]), list(example["keys"])
    weights = np.asarray(example["weights"], dtype=np.float64)
    if weights.size != len(tokens) * len(keys):
        raise ValueError(
            f"Expected {len(tokens)} x {len(keys)} weights for {len(tokens)} queries and {len(keys)} keys, "
            f"got {weights.size}; write the weights row by row."
        )
    return weights.reshape(len(tokens), len(keys))


def best_window(weights: np.ndarray, *, most: int = MOST_TOKENS) -> TokenWindow:
    """Choose the drawn part of `weights [query, key]`: `most` neighbors in each direction that keep most attention.

    In a square map, one window slides over queries and keys together; a cross map uses the best window of keys for the
    first queries. The leftmost of equally good windows is chosen.
    """
    queries, keys = weights.shape
    if queries <= most and keys <= most:
        return TokenWindow(slice(0, queries), slice(0, keys), 1.0)
    square = queries == keys
    tall, wide = min(most, queries), min(most, keys)
    kept: list[tuple[float, int]] = []
    for start in range(keys - wide + 1):
        rows = slice(start, start + tall) if square else slice(0, tall)
        total = float(weights[rows].sum())
        kept.append((float(weights[rows, start : start + wide].sum()) / max(total, 1e-12), start))
    share, start = max(kept, key=lambda pair: (round(pair[0], 9), -pair[1]))
    return TokenWindow(slice(start, start + tall) if square else slice(0, tall), slice(start, start + wide), share)


def draw_lines(
    ax: Axes,
    tokens: Sequence[str],
    keys: Sequence[str],
    weights: np.ndarray,
    *,
    color: str = INK,
    most: int = MOST_TOKENS,
) -> str:
    """Draw one head: a line for each weight, its opacity the weight, the darkest drawn last.

    Returns:
        A note: the strongest weight, and the drawn part of a long example.
    """
    window = best_window(weights, most=most)
    shown = weights[window.queries, window.keys]
    left, right = list(tokens)[window.queries], list(keys)[window.keys]
    largest = float(shown.max(initial=0.0))
    pairs = np.argwhere(shown >= FAINTEST)
    pairs = pairs[np.argsort(shown[pairs[:, 0], pairs[:, 1]], kind="stable")]
    segments = [((0.0, float(query)), (1.0, float(key))) for query, key in pairs]
    rgba = [(*to_rgb(color), min(float(shown[query, key]), 1.0)) for query, key in pairs]
    lines = LineCollection(segments, colors=rgba, linewidths=1.5, capstyle="round", gid="attention")
    ax.add_collection(lines)
    for row, token in enumerate(left):
        ax.text(-0.04, row, label(token), ha="right", va="center", fontsize=9, parse_math=False)
    for row, token in enumerate(right):
        ax.text(1.04, row, label(token), ha="left", va="center", fontsize=9, parse_math=False)
    ax.set_xlim(-0.75, 1.75)
    ax.set_ylim(max(len(left), len(right)) - 0.4, -0.6)
    ax.set_axis_off()
    note = f"strongest line {100 * largest:.0f}%"
    if len(left) < len(tokens):
        first, last = window.queries.start + 1, window.queries.stop
        note += f" · tokens {first}–{last} of {len(tokens)}, {100 * window.inside:.0f}% of their attention"
    return note


@house_style()
def line_diagram(
    examples: pd.DataFrame,
    *,
    labels: Mapping[str, str] | None = None,
    axes: Sequence[Axes] | None = None,
    most: int = MOST_TOKENS,
) -> Figure:
    """Draw figure 1: one panel for each row of `examples`, titled `Head 1-3 · previous token`.

    Args:
        examples: rows of `tables/examples.parquet`; rows whose behavior is `shared` are skipped.
        labels: role -> its label, for a model whose special tokens have other names.
        axes: one for each row; created if None.
        most: maximum number of tokens drawn of a long example.

    Raises:
        ValueError: no row to draw, another number of axes than rows, or weights that do not fit the tokens.
    """
    rows = [row for _, row in examples.iterrows() if row["behavior"] != "shared"]
    if not rows:
        raise ValueError("Expected at least one example of a behavior, got none; run the examples stage first.")
    if axes is None:
        columns = across(min(len(rows), COLUMNS), each=PANEL_INCHES)
        lines = -(-len(rows) // columns)
        figure = new_figure(PANEL_INCHES * columns, _inches(rows, most) * lines)
        figure.set_layout_engine("constrained", h_pad=0.14)
        grid = figure.subplots(lines, columns, squeeze=False).ravel()
        for spare in grid[len(rows) :]:
            spare.set_axis_off()
        axes = list(grid[: len(rows)])
    if len(axes) != len(rows):
        raise ValueError(f"Expected {len(rows)} axes, one an example, got {len(axes)}; give one for each row.")
    prefixes = kind_prefixes(row["kind"] for row in rows)
    for ax, row in zip(axes, rows):
        example_panel(row, labels=labels, prefix=prefixes[row["kind"]], ax=ax, most=most)
    return figure_of(axes[0])


def line_pages(examples: pd.DataFrame) -> list[pd.DataFrame]:
    """Split the examples of figure 1 into pages no higher than a paper page; one page if the width is free."""
    rows = [row for _, row in examples.iterrows() if row["behavior"] != "shared"]
    drawn = examples[examples["behavior"] != "shared"]
    if paper_width() is None or not rows:
        return [drawn]
    lines = max(int(PAGE_INCHES / _inches(rows, MOST_TOKENS)), 1)
    size = across(min(len(rows), COLUMNS), each=PANEL_INCHES) * lines
    return [drawn.iloc[start : start + size] for start in range(0, len(drawn), size)]


def _inches(rows: Sequence[pd.Series], most: int) -> float:
    """Return the height of the panels: the height of the longest example."""
    tallest = max(min(max(len(row["tokens"]), len(row["keys"])), most) for row in rows)
    return ROW_INCHES * tallest + 0.75


@house_style()
def example_panel(
    example: pd.Series,
    *,
    labels: Mapping[str, str] | None = None,
    prefix: str = "",
    ax: Axes | None = None,
    most: int = MOST_TOKENS,
) -> Figure:
    """Draw one example in its role's color, with its scale, and its title, which begins with `prefix`."""
    role = str(example["behavior"])
    known = palette().roles.get(role)
    words = (labels or {}).get(role, known.label if known else role)
    weights = weights_of(example)
    if ax is None:
        rows = min(max(weights.shape), most)
        ax = new_figure(3.3, ROW_INCHES * rows + 0.75).subplots()
    # A list of tokens read from Parquet is an array.
    tokens, keys = [str(token) for token in example["tokens"]], [str(key) for key in example["keys"]]
    note = draw_lines(ax, tokens, keys, weights, color=role_color(role), most=most)
    title = f"{prefix}head {head_label(example['layer'], example['head'])} · {words}"
    ax.set_title(capital(title))
    ax.text(0.0, 0.0, note, transform=ax.transAxes, fontsize=8, color=SOFT, va="top", ha="left")
    return figure_of(ax)
