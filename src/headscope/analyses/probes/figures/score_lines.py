"""Table 3 as a figure: the share of heads found by each probe, with intervals, seeds, and the paper's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from headscope.analyses.probes.probe_lines import probe_lines
from headscope.figures.paper import narrow
from headscope.figures.style import INK, LINE, SOFT, figure_of, house_style, label, new_figure, role_color


@house_style()
def probe_scores(probes: pd.DataFrame, *, paper: Mapping[str, float | int] | None = None) -> Figure:
    """Draw one line per probe: the mean over seeds with its 95% interval, each seed as a tick.

    Args:
        probes: `tables/probes.parquet`.
        paper: the paper's table 3 in percent, drawn hollow; None where the model is not the paper's.

    Raises:
        ValueError: the table has no row of table 3.
    """
    lines = probe_lines(probes)
    if not lines:
        raise ValueError("Expected attachment scores of at least one probe, got none; run with --treebank-train.")
    ax = new_figure(7.2, 0.7 + 0.36 * len(lines)).subplots()
    for y, line in enumerate(lines):
        system, mean = line.system, line.score
        color = role_color(system.role)
        if np.isfinite(mean.ci_low):
            ax.hlines(y, mean.ci_low, mean.ci_high, color=color, linewidth=6, alpha=0.35, gid="interval")
        ax.plot(line.values, [y] * line.seeds, linestyle="", marker="|", markersize=11, color=color, gid="seeds")
        ax.plot(mean.value, y, marker="o", markersize=5, color=color, gid="mean")
        printed = (paper or {}).get(system.paper or "")
        if printed is not None:
            ax.plot(printed / 100, y, marker="D", markersize=6, markerfacecolor="none", color=INK, gid="paper")
        ax.text(1.02, y, f"{100 * mean.value:.1f}", va="center", ha="left", color=INK, clip_on=False)
    systems = [line.system for line in lines]
    names = [system.name + (" (UUAS)" if system.measure == "UUAS" else "") for system in systems]
    ax.set_yticks(range(len(lines)), [fill(label(name, 44), 22) if narrow() else label(name, 44) for name in names])
    ax.tick_params(axis="y", labelcolor=INK)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100%"])
    ax.grid(axis="x", color=LINE)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    if paper and any(system.paper in paper for system in systems):
        ax.set_xlabel("◇ in the paper, on the Wall Street Journal", color=SOFT)
    return figure_of(ax)
