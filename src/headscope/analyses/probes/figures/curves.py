"""Probes as curves: the share of heads found by distance, and the structural probe's score in each layer."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from headscope.analyses.probes.catalog import SYSTEMS
from headscope.figures.axes import distance_axis, interval_bars, name_ends, say_absent, whole_axis
from headscope.figures.paper import LEAST_POINTS, narrow
from headscope.figures.style import INK, figure_of, house_style, new_figure, role_color, role_outline
from headscope.statistics.arc_bins import DISTANCES

MEASURES = {"UUAS": "syntax", "Spearman": "next"}
_GAP = 0.062  # fraction of the axis between two names


@house_style()
def probe_distances(by_distance: pd.DataFrame) -> Figure:
    """Draw one curve per probe: the share of heads found by distance to the head, with intervals.

    Args:
        by_distance: `tables/probe_by_distance.parquet`.
    """
    rows_of = dict(iter(by_distance[by_distance["value"].notna()].groupby(["probe", "model"])))
    lines = [(system, rows_of[key]) for key, system in SYSTEMS.items() if key in rows_of]
    # A figure of one column is too narrow for names next to the curves.
    ax = new_figure(8.2, 3.4 + (0.14 * len(lines) if narrow() else 0.0)).subplots()
    if not lines:
        say_absent(ax, "No case at any distance.")
        return figure_of(ax)
    ends = []
    for system, rows in lines:
        x = np.array([DISTANCES.index(str(distance)) for distance in rows["distance"]], dtype=float)
        order = np.argsort(x)
        values, low, high = (rows[name].to_numpy(float)[order] for name in ("value", "ci_low", "ci_high"))
        color = role_color(system.role)
        interval_bars(ax, x[order], low, high, color=color, width=3.0, alpha=0.3)
        ax.plot(x[order], values, color=color, linewidth=1.4, marker=role_outline(system.role), markersize=6,
                linestyle="--" if "random" in system.name else "-", clip_on=False, gid="probe",
                label=system.name)  # fmt: skip
        ends.append((float(values[-1]), system.name, color, f"name--{system.name}"))
    distance_axis(ax)
    whole_axis(ax, steps=4, labelsize=9.0)
    ax.set_xlabel("words between dependent and head word, 1 is next to it", fontsize=9)
    if not narrow():
        name_ends(ax, len(DISTANCES) - 0.8, ends, gap=_GAP)
    else:
        figure_of(ax).legend(loc="outside lower left", frameon=False, labelcolor="linecolor", fontsize=LEAST_POINTS)
    return figure_of(ax)


@house_style()
def probe_layers(layers: pd.DataFrame) -> Figure:
    """Draw the structural probe's score in each layer, 0 the embeddings; the chosen layer has a ring.

    Args:
        layers: `tables/probe_layers.parquet`.
    """
    last = int(layers["layer"].max())
    ax = new_figure(min(max(4.2, 0.3 * last + 2.2), 10.0), 2.9).subplots()
    ends = []
    for measure, role in MEASURES.items():
        rows = layers[(layers["measure"] == measure) & layers["value"].notna()].sort_values("layer")
        if rows.empty:
            continue
        color = role_color(role)
        x, values = rows["layer"].to_numpy(float), rows["value"].to_numpy(float)
        low, high = rows["ci_low"].to_numpy(float), rows["ci_high"].to_numpy(float)
        if np.isfinite(low).any():
            ax.fill_between(x, low, high, color=color, alpha=0.2, linewidth=0, gid="interval")
        ax.plot(x, values, color=color, linewidth=1.5, marker=role_outline(role), markersize=6, gid="layers")
        chosen = rows["chosen"].to_numpy(bool)
        ax.plot(x[chosen], values[chosen], linestyle="", marker="o", markersize=13, markerfacecolor="none",
                color=INK, gid="chosen")  # fmt: skip
        ends.append((float(values[-1]), measure, color, f"name--{measure}"))
    ax.set_xlim(-0.4, last + 0.2)
    step = max(1, -(-last // 12))
    ax.set_xticks(range(0, last + 1, step))
    whole_axis(ax, steps=4, labelsize=9.0)
    ax.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    name_ends(ax, last + 0.25, ends, gap=_GAP)
    ax.set_xlabel("layer, 0 is the embeddings")
    return figure_of(ax)
