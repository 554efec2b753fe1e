"""Figure 3 of the paper: how much the loss depends on attention to special tokens, punctuation and other tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from headscope.analyses.importance.tables import SHORT_TITLES, TITLES, UNITS
from headscope.figures.axes import layer_axis, log_axis, name_ends, say_absent, say_missing
from headscope.figures.paper import across, paper_width
from headscope.figures.series import Series, draw_heads, draw_means
from headscope.figures.stats_points import kinds_in, panel_title
from headscope.figures.style import LEAST_MARK, figure_of, house_style, new_figure, role_color

MEASURES: Mapping[str, tuple[str, str]] = {
    measure: (title, f"mean |{SHORT_TITLES[measure]}|, {UNITS[measure]}") for measure, title in TITLES.items()
}
NAMES: Mapping[str, str] = {"cls": "[CLS]", "sep": "[SEP]", "period_comma": ". and ,", "other": "other tokens"}
_STEP = 0.19  # distance between the classes' points, as a fraction of a layer's width


def importance_curves(
    importance: pd.DataFrame, *, names: Mapping[str, str] = NAMES, axes: Sequence[Sequence[Axes]] | None = None
) -> Figure:
    """Draw figure 3: for each class of key one point per head and the curve of the layers' means; one row per kind.

    Args:
        importance: `tables/importance.parquet`; a missing head is the layer's mean.
        names: names of the classes of key, for a model whose special tokens are not `[CLS]` and `[SEP]`.
        axes: a row of two axes for each kind in the table (gradient, weight times gradient); created when not given.

    Raises:
        ValueError: the shape of `axes` is not kinds by two.
    """
    kinds = kinds_in(importance)
    with house_style():
        if axes is None:
            deepest = int(importance["layer"].max())
            width = min(max(0.42 * deepest + 2.2, 4.6), 9.0)
            columns = across(len(MEASURES), each=2.9)
            lines = len(kinds) * (len(MEASURES) // columns)
            figure = new_figure(2 * width, (3.4 if columns > 1 else 2.6) * lines)
            panels = figure.subplots(lines, columns, squeeze=False)
            axes = panels.reshape(len(kinds), len(MEASURES)).tolist()
        elif len(axes) != len(kinds) or any(len(row) != len(MEASURES) for row in axes):
            raise ValueError(
                f"Expected {len(kinds)} rows of {len(MEASURES)} axes ({', '.join(kinds)}), got "
                f"{[len(row) for row in axes]}; give one row a kind and in it one axes a measure."
            )
        for kind, row in zip(kinds, axes):
            for measure, ax in zip(MEASURES, row):
                title = panel_title(MEASURES[measure][0], kind, kinds)
                importance_panel(importance, measure, kind=kind, names=names, title=title, ax=ax)
        return figure_of(axes[0][0])


def kind_pages(table: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """Split a table by kind for figures on paper, so that none is higher than a page.

    Returns:
        The suffix of each file's name with its rows; a single entry with all rows if the width is not fixed.
    """
    kinds = kinds_in(table)
    if paper_width() is None or len(kinds) == 1:
        return [("", table)]
    return [(f"-{kind}" if index else "", table[table["kind"] == kind]) for index, kind in enumerate(kinds)]


def importance_panel(
    importance: pd.DataFrame,
    measure: str,
    *,
    kind: str,
    names: Mapping[str, str] = NAMES,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw one measure of one kind on a logarithmic axis; absent classes are left out, and the panel says so.

    Args:
        importance: `tables/importance.parquet`.
        measure: `gradient` or `weight_times_gradient`.
        kind: `encoder`, `decoder` or `cross`.
        names: names of the classes of key.
        title: title above the panel; by default the measure's.
        ax: axes to draw on; created when not given.
    """
    every = [class_series(importance, measure, name, kind=kind) for name in NAMES]
    present = [series for series in every if not series.empty]
    absent = [names[series.statistic] for series in every if series.empty]
    with house_style():
        ax = ax or new_figure(5.0, 3.2).subplots()
        ax.set_title(title or MEASURES[measure][0])
        if not present:
            say_absent(ax, "The loss does not depend on this attention.")
            return figure_of(ax)
        layers = max(series.layers for series in present)
        layer_axis(ax, layers)
        _log_axis(ax, present)
        ax.set_ylabel(MEASURES[measure][1])
        for index, series in enumerate(present):
            shift = _STEP * (index - (len(present) - 1) / 2)
            role = _role(series.statistic)
            draw_means(ax, series, color=role_color(role), shift=shift)
            shape = "broad" if series.statistic == "other" else series.statistic
            draw_heads(ax, series, color=role_color(role), shape=shape, shift=shift, size=LEAST_MARK)
        ends = [
            (series.last_mean, names[series.statistic], role_color(_role(series.statistic)), series.name_id)
            for series in present
        ]
        name_ends(ax, layers + 0.62, ends)
        if absent:
            say_missing(ax, absent)
        return figure_of(ax)


def class_series(importance: pd.DataFrame, measure: str, key_class: str, *, kind: str) -> Series:
    """Return one measure of one class of key, without nulls, and without zeros, which have no logarithm."""
    rows = importance[
        (importance["kind"] == kind)
        & (importance["measure"] == measure)
        & (importance["key_class"] == key_class)
        & (importance["value"] > 0)
    ]
    mean = rows["head"].isna()
    heads = rows[~mean].sort_values(["layer", "head"]).reset_index(drop=True)
    means = rows[mean].sort_values("layer").reset_index(drop=True)
    return Series(statistic=key_class, kind=kind, heads=heads, means=means)


def _role(key_class: str) -> str:
    return "mixed" if key_class == "other" else key_class


def _log_axis(ax: Axes, present: Sequence[Series]) -> None:
    tables = [table for series in present for table in (series.heads, series.means)]
    values = np.concatenate([table["value"].to_numpy(float) for table in tables])
    log_axis(ax, values.min() / 1.4, values.max() * 1.4, subs=(1.0, 3.0))
    ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 3.0), numticks=12))
    ax.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: np.format_float_positional(value, precision=1, fractional=False, trim="-"))
    )
    ax.yaxis.set_minor_locator(NullLocator())
