"""The figures of effects: added losses, first-order estimates, and rank agreement of measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, SymmetricalLogLocator

from headscope.analyses.effects.estimates import Judged, judged_of
from headscope.analyses.effects.head_effects import Agreement, HeadEffect, added_losses, agreements, measured_heads
from headscope.analyses.effects.sums import GATE
from headscope.present.figures.axes import interval_bars
from headscope.present.figures.head_points import draw_points, panel_column, side_by_side
from headscope.present.figures.style import INK, LEAST_MARK, LINE, SOFT, house_style, new_figure
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.statistics.inference.significance import LEAST_LOSS

LINEAR = 1e-3
"""Distance from 0 up to which an axis is linear by default, nats."""


def nats_axis(ax: Axes, which: Literal["x", "y"], *, linear: float = LINEAR) -> None:
    """Scale an axis for nats, and write its numbers with a minus sign.

    Args:
        ax: matplotlib axes.
        which: axis to scale.
        linear: distance from 0 up to which the axis is linear, nats.
    """
    set_scale = ax.set_xscale if which == "x" else ax.set_yscale
    set_scale("symlog", linthresh=linear, linscale=0.6)
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(SymmetricalLogLocator(base=10, linthresh=linear))
    axis.set_major_formatter(FuncFormatter(lambda number, _: f"{number:g}".replace("-", "−")))


def draw_effects(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the figure of each kind of attention.

    Args:
        about: report context of the run.
        table: `tables/effects.parquet`.
    """
    for kind in about.kinds:
        if effects := added_losses(table, kind.name):
            yield kind.ending, partial(effect_figure, effects, kind=kind.name, roles=about.roles)


def effect_figure(effects: Sequence[HeadEffect], *, kind: str, roles: pd.DataFrame | None) -> matplotlib.figure.Figure:
    """Draw a point for each head at its added loss, with its interval; a point links to its head's card.

    Args:
        effects: effects of all heads.
        kind: `encoder`, `decoder` or `cross`.
        roles: table with the columns `kind layer head role`, for colors and shapes.
    """
    ordered = sorted(effects, key=lambda effect: (effect.head.layer, effect.head.head))
    heads = [(effect.head.layer, effect.head.head) for effect in ordered]
    value, low, high = (
        np.array([getattr(effect.added, name) for effect in ordered]) for name in ("value", "ci_low", "ci_high")
    )
    with house_style():
        figure, (ax,) = panel_column(1, height=2.6)
        x = side_by_side(ax, heads)
        nats_axis(ax, "y")
        ends = np.concatenate([value, low[np.isfinite(low)], high[np.isfinite(high)], [-LINEAR, 2 * LEAST_LOSS]])
        ax.set_ylim(1.3 * ends.min(), 1.3 * ends.max())
        ax.axhline(0, color=LINE, linewidth=1.0, zorder=1)
        ax.axhline(LEAST_LOSS, color=SOFT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, gid="rule")
        interval_bars(ax, x, low, high, color=SOFT, width=max(0.6, min(1.6, 120 / len(x))), alpha=0.8)
        draw_points(
            ax, heads, x, value, kind=kind, name="effects", roles=roles, s=max(LEAST_MARK, min(46.0, 3000 / len(x))),
        )  # fmt: skip
        ax.set_ylabel("added loss, nats")
        return figure


def draw_estimates(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the figure of each kind of attention, for its first estimate.

    Args:
        about: report context of the run.
        table: `tables/effects.parquet`.
    """
    for kind in about.kinds:
        for judged in judged_of(table, kind.name)[:1]:
            yield kind.ending, partial(estimate_figure, judged, kind=kind.name, roles=about.roles)


def estimate_figure(judged: Judged, *, kind: str, roles: pd.DataFrame | None) -> matplotlib.figure.Figure:
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
        figure = new_figure(5.2, 4.2)
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


def draw_agreement(about: Context, *_: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the figure of each kind of attention whose heads have enough measures.

    Args:
        about: report context of the run.
    """
    for kind in about.kinds:
        if pairs := agreements(measured_heads(about.run, kind)):
            yield kind.ending, partial(agreement_figure, pairs)


def agreement_figure(pairs: Sequence[Agreement]) -> matplotlib.figure.Figure:
    """Draw the rank correlation of each pair of measures as a point with its interval, the largest on top.

    Args:
        pairs: pairs of measures with their agreement.
    """
    with house_style():
        figure = new_figure(5.6, 0.7 + 0.3 * len(pairs))
        ax = figure.subplots()
        y = np.arange(len(pairs))[::-1]
        ax.set_xlim(-1.02, 1.02)
        ax.set_ylim(-0.7, len(pairs) - 0.3)
        ax.axvline(0, color=LINE, linewidth=1.0, zorder=1)
        ends = np.array([(pair.ci_low, pair.ci_high) for pair in pairs])
        if np.isfinite(ends).any():
            ax.hlines(y, ends[:, 0], ends[:, 1], color=SOFT, linewidth=1.4, zorder=2, gid="interval")
        ax.scatter([pair.rho for pair in pairs], y, s=LEAST_MARK, color=INK, zorder=3, gid="pairs")
        ax.set_yticks(y, [f"{pair.first}, {pair.second}" for pair in pairs])
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel("rank correlation over heads")
        return figure


FIGURES = (
    Figure(name="figure-effects", tables=("effects",), draw=draw_effects),
    Figure(name="figure-effect-estimates", tables=("effects",), draw=draw_estimates),
    Figure(name="figure-measures-compared", tables=("effects",), draw=draw_agreement),
)
