"""Figure 3 of the paper: how much the loss depends on attention to special tokens, punctuation and other tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from headscope.analyses.importance.tables import CLASS_NAMES, SHORT_TITLES, TITLES, UNITS
from headscope.present.drawing import placed
from headscope.present.figures.axes import layer_axis, log_axis, name_ends, say_absent, say_missing
from headscope.present.figures.series import Series, draw_heads, draw_means
from headscope.present.figures.stats_points import kinds_in, panel_title
from headscope.present.figures.style import (
    LEAST_MARK,
    across,
    figure_of,
    house_style,
    new_figure,
    paper_width,
    role_color,
)
from headscope.present.kinds import Kind
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.present.words import Words
from headscope.views.markup import Html, el

MEASURES: Mapping[str, tuple[str, str]] = {
    measure: (title, f"mean |{SHORT_TITLES[measure]}|, {UNITS[measure]}") for measure, title in TITLES.items()
}
NAMES: Mapping[str, str] = {"cls": "[CLS]", "sep": "[SEP]", "period_comma": ". and ,", "other": "other tokens"}
_STEP = 0.19  # distance between the classes' points, as a fraction of a layer's width


def importance_curves(importance: pd.DataFrame, *, names: Mapping[str, str] = NAMES) -> matplotlib.figure.Figure:
    """Draw figure 3: for each class of key one point per head and the curve of the layers' means; one row per kind.

    Args:
        importance: `tables/importance.parquet`; a missing head is the layer's mean.
        names: names of the classes of key, for a model whose special tokens are not `[CLS]` and `[SEP]`.
    """
    kinds = kinds_in(importance)
    with house_style():
        width = min(max(0.42 * int(importance["layer"].max()) + 2.2, 4.6), 9.0)
        columns = across(len(MEASURES), each=2.9)
        lines = len(kinds) * (len(MEASURES) // columns)
        panels = new_figure(2 * width, (3.4 if columns > 1 else 2.6) * lines).subplots(lines, columns, squeeze=False)
        for (kind, measure), ax in zip(product(kinds, MEASURES), panels.flat, strict=True):
            title = panel_title(MEASURES[measure][0], kind, kinds)
            importance_panel(importance, measure, kind=kind, names=names, title=title, ax=ax)
        return figure_of(panels.flat[0])


def importance_panel(
    importance: pd.DataFrame,
    measure: str,
    *,
    kind: str,
    names: Mapping[str, str] = NAMES,
    title: str | None = None,
    ax: Axes | None = None,
) -> matplotlib.figure.Figure:
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


def class_names(words: Words) -> dict[str, str]:
    """Return the names of the classes of key for this model."""
    return {key_class: words.fill(name) for key_class, name in CLASS_NAMES.items()}


def importance_panels(about: Context, kind: Kind) -> Html | None:
    """Draw the panels of one kind of attention, one for each measure; None for a run without importance."""
    pictures = []
    for measure, (title, _) in MEASURES.items():
        label = f"{title} of each {kind.name} head by layer and class of token; the table below holds the means."
        pictures += placed(about, _PANELS, label, ending=f"-{kind.name}-{measure}")
    return el("div", pictures, class_="panels") if pictures else None


def _draw_panels(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for kind in about.kinds:
        panel = partial(importance_panel, table, kind=kind.name, names=class_names(about.words))
        for measure in MEASURES:
            yield f"-{kind.name}-{measure}", partial(panel, measure)


def _draw_curves(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield figure 3; on paper one figure for each kind of attention, so that none is higher than a page."""
    kinds = kinds_in(table)
    if paper_width() is None or len(kinds) == 1:
        pages = [("", table)]
    else:
        pages = [(f"-{kind}" if index else "", table[table["kind"] == kind]) for index, kind in enumerate(kinds)]
    for ending, rows in pages:
        yield ending, partial(importance_curves, rows, names=class_names(about.words))


FIGURE = Figure(name="figure-3", tables=("importance",), draw=_draw_curves)
_PANELS = Figure(name="importance", tables=("importance",), draw=_draw_panels)


def class_series(importance: pd.DataFrame, measure: str, key_class: str | None, *, kind: str) -> Series:
    """Return one measure of one class of key (None for all tokens) without nulls and zeros, which have no logarithm."""
    is_class = importance["key_class"].isna() if key_class is None else importance["key_class"] == key_class
    rows = importance[
        is_class & (importance["kind"] == kind) & (importance["measure"] == measure) & (importance["value"] > 0)
    ]
    mean = rows["head"].isna()
    heads = rows[~mean].sort_values(["layer", "head"]).reset_index(drop=True)
    means = rows[mean].sort_values("layer").reset_index(drop=True)
    return Series(statistic=key_class or measure, kind=kind, heads=heads, means=means)


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
