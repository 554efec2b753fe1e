"""The figure of effects: the added loss of each head, layer after layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from headscope.analyses.effects.findings import HeadEffect, added_losses
from headscope.analyses.effects.nats import LINEAR, nats_axis
from headscope.figures.axes import interval_bars
from headscope.figures.head_points import draw_points, panel_column, side_by_side
from headscope.figures.style import LEAST_MARK, LINE, SOFT, house_style
from headscope.report_kit.report_parts import Context, Drawing
from headscope.statistics.inference.worth_saying import LEAST_LOSS


def draw_effects(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the figure of each kind of attention.

    Args:
        about: report context of the run.
        table: `tables/effects.parquet`.
    """
    for kind in about.kinds:
        if effects := added_losses(table, kind.name):
            yield kind.ending, partial(effect_figure, effects, kind=kind.name, roles=about.roles)


def effect_figure(effects: Sequence[HeadEffect], *, kind: str, roles: pd.DataFrame | None) -> Figure:
    """Draw a point for each head at its added loss, with its interval; a point links to its head's card.

    Args:
        effects: effects of all heads.
        kind: `encoder`, `decoder` or `cross`.
        roles: table with the columns `kind layer head role`, for colors and shapes.
    """
    ordered = sorted(effects, key=lambda effect: (effect.layer, effect.head))
    heads = [(effect.layer, effect.head) for effect in ordered]
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
