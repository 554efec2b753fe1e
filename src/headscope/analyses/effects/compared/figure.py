"""The figure of rank agreement: a line for each pair of measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from headscope.analyses.effects.compared.ranks import Agreement, agreements, measured_heads
from headscope.figures.style import INK, LEAST_MARK, LINE, SOFT, house_style, new_figure
from headscope.report_kit.report_parts import Context, Drawing

_WIDTH, _LINE, _MARGIN = 5.6, 0.3, 0.7


def draw_agreement(about: Context, *_: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the figure of each kind of attention whose heads have enough measures.

    Args:
        about: report context of the run.
    """
    for kind in about.kinds:
        if pairs := agreements(measured_heads(about.run, kind)):
            yield kind.ending, partial(agreement_figure, pairs)


def agreement_figure(pairs: Sequence[Agreement]) -> Figure:
    """Draw the rank correlation of each pair of measures as a point with its interval, the largest on top.

    Args:
        pairs: pairs of measures with their agreement.
    """
    with house_style():
        figure = new_figure(_WIDTH, _MARGIN + _LINE * len(pairs))
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
