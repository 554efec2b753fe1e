"""The figure of estimates: the first-order estimate (x) and the exact effect (y) of each head."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from headscope.analyses.effects.accumulator import GATE
from headscope.analyses.effects.estimates.judge import Judged, judged_of
from headscope.analyses.effects.nats import LINEAR, nats_axis
from headscope.figures.head_points import draw_points
from headscope.figures.style import LEAST_MARK, LINE, house_style, new_figure
from headscope.report_kit.report_parts import Context, Drawing

_WIDTH, _HEIGHT = 5.2, 4.2


def draw_estimates(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the figure of each kind of attention, for its first estimate.

    Args:
        about: report context of the run.
        table: `tables/effects.parquet`.
    """
    for kind in about.kinds:
        for judged in judged_of(table, kind.name)[:1]:
            yield kind.ending, partial(estimate_figure, judged, kind=kind.name, roles=about.roles)


def estimate_figure(judged: Judged, *, kind: str, roles: pd.DataFrame | None) -> Figure:
    """Draw a point for each head at its estimate and its effect; on the diagonal both are the same.

    Args:
        judged: heads with effect and estimate.
        kind: `encoder`, `decoder` or `cross`.
        roles: table with the columns `kind layer head role`, for colors and shapes.
    """
    heads = [(int(layer), int(head)) for layer, head in judged.heads]
    y = np.abs(judged.effect) if judged.estimate == GATE else judged.effect
    ends = [(1.3 * min(values.min(), -LINEAR), 1.3 * max(values.max(), 2 * LINEAR)) for values in (judged.guess, y)]
    with house_style():
        figure = new_figure(_WIDTH, _HEIGHT)
        ax = figure.subplots()
        # The same scale along both, so that the diagonal is a line.
        nats_axis(ax, "x")
        nats_axis(ax, "y")
        ax.set_xlim(*ends[0])
        ax.set_ylim(*ends[1])
        ax.axhline(0, color=LINE, linewidth=1.0, zorder=1)
        ax.axvline(0, color=LINE, linewidth=1.0, zorder=1)
        both = np.array([max(low for low, _ in ends), min(high for _, high in ends)])
        ax.plot(both, both, color=LINE, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, gid="rule")
        size = max(LEAST_MARK, min(46.0, 3000 / len(heads)))
        draw_points(ax, heads, judged.guess, y, kind=kind, name="estimates", roles=roles, s=size)
        ax.set_xlabel("gate estimate, nats" if judged.estimate == GATE else "attribution, nats")
        ax.set_ylabel("size of the added loss, nats" if judged.estimate == GATE else "added loss, nats")
        return figure
