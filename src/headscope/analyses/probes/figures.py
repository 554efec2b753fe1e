"""The figures of probes: table 3, scores by distance, weights of heads, the layers of the structural probe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawn
from matplotlib.patches import Rectangle

from headscope.analyses.probes.page_rows import TITLES, paper_of, probe_lines
from headscope.analyses.probes.tables import SYSTEMS
from headscope.attention.head_id import head_anchor
from headscope.present.figures.axes import distance_axis, grid_axes, interval_bars, name_ends, say_absent, whole_axis
from headscope.present.figures.style import (
    INK,
    LEAST_POINTS,
    LINE,
    SOFT,
    across,
    figure_of,
    house_style,
    label,
    narrow,
    new_figure,
    panel_inches,
    role_color,
    role_outline,
)
from headscope.present.kinds import Kind
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.statistics.tables.frames import DISTANCES

MEASURES = {"UUAS": "syntax", "Spearman": "next"}
POSITIVE, NEGATIVE = "syntax", "sep"
_GAP = 0.062  # fraction of the axis between two names
_CELL = 0.27  # inches


@house_style()
def probe_scores(probes: pd.DataFrame, *, paper: Mapping[str, float | int] | None = None) -> Drawn:
    """Draw one line per probe: the mean over seeds with its 95% interval, each seed as a tick.

    Args:
        probes: `tables/probes.parquet`, with a row of table 3.
        paper: the paper's table 3 in percent, drawn hollow; None where the model is not the paper's.
    """
    lines = list(probe_lines(probes).values())
    ax = new_figure(7.2, 0.7 + 0.36 * len(lines)).subplots()
    for y, line in enumerate(lines):
        mean, color = line.score, role_color(line.system.role)
        if np.isfinite(mean.ci_low):
            ax.hlines(y, mean.ci_low, mean.ci_high, color=color, linewidth=6, alpha=0.35, gid="interval")
        ax.plot(line.values, [y] * len(line.values), linestyle="", marker="|", markersize=11, color=color, gid="seeds")
        ax.plot(mean.value, y, marker="o", markersize=5, color=color, gid="mean")
        printed = (paper or {}).get(line.system.paper or "")
        if printed is not None:
            ax.plot(printed / 100, y, marker="D", markersize=6, markerfacecolor="none", color=INK, gid="paper")
            ax.set_xlabel("◇ in the paper, on the Wall Street Journal", color=SOFT)
        ax.text(1.02, y, f"{100 * mean.value:.1f}", va="center", ha="left", color=INK, clip_on=False)
    names = [label(line.title, 44) for line in lines]
    ax.set_yticks(range(len(lines)), [fill(name, 22) if narrow() else name for name in names])
    ax.tick_params(axis="y", labelcolor=INK)
    ax.set_ylim(len(lines) - 0.5, -0.5)
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100%"])
    ax.grid(axis="x", color=LINE)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)
    return figure_of(ax)


@house_style()
def probe_distances(by_distance: pd.DataFrame) -> Drawn:
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
def probe_weights(weights: pd.DataFrame, *, kind: str) -> Drawn:
    """Draw a probe's weights of one kind of attention: layers as rows, heads as columns, one grid per direction.

    The shade of a cell grows with the absolute weight, on one scale for both directions; a weight below zero has
    another color and a bar across it. Each cell links to its head's card.

    Args:
        weights: rows of one probe and kind of `tables/probe_weights.parquet`.
        kind: `encoder` or `decoder`.
    """
    layers, heads = int(weights["layer"].max()), int(weights["head"].max())
    most = float(weights["weight"].abs().max()) or 1.0
    columns = across(2, each=2.4)
    width = panel_inches(columns, free=min(_CELL * heads + 0.8, 14.0))
    cell = min(_CELL, (width - 0.8) / heads)
    figure = new_figure(2 * width, (2 // columns) * min(cell * layers + 0.9, 24.0))
    axes = figure.subplots(2 // columns, columns, sharey=True).ravel()
    for (direction, title), ax in zip(TITLES.items(), axes):
        ax.set_title(title)
        rows = weights[weights["direction"] == direction]
        if rows.empty:
            say_absent(ax, "This direction has no weight.")
            continue
        for row in rows.to_dict("records"):
            _cell(ax, kind, int(row["layer"]), int(row["head"]), float(row["weight"]), most)
        grid_axes(ax, layers, heads, most=16, labelsize=8)
        ax.set_xlabel("head")
    axes[0].set_ylabel("layer")
    return figure


def _cell(ax: Axes, kind: str, layer: int, head: int, weight: float, most: float) -> None:
    color = role_color(POSITIVE if weight >= 0 else NEGATIVE)
    corner = (head - 0.44, layer - 0.44)
    ax.add_patch(Rectangle(corner, 0.88, 0.88, facecolor="none", edgecolor=LINE, linewidth=0.8))
    cell = Rectangle(corner, 0.88, 0.88, facecolor=color, alpha=abs(weight) / most, linewidth=0)
    cell.set_url(f"#{head_anchor(kind, layer, head)}")
    ax.add_patch(cell)
    if weight < 0 and abs(weight) / most >= 0.1:
        ax.plot([head - 0.2, head + 0.2], [layer, layer], color=INK, linewidth=1, solid_capstyle="butt", gid="minus")


@house_style()
def probe_layers(layers: pd.DataFrame) -> Drawn:
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
        x, values, low, high = (rows[name].to_numpy(float) for name in ("layer", "value", "ci_low", "ci_high"))
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


def weight_grids(about: Context) -> list[tuple[str, str, Kind, str]]:
    """Return the probe, its name in words, the kind of attention and the ending of the file of each grid of weights."""
    table = about.run.tables.get("probe_weights")
    weighed = set() if table is None else set(zip(table["probe"], table["kind"]))
    return [
        (probe, system.name, kind, ("" if probe == "attention" else f"-{probe.replace(' ', '-')}") + kind.ending)
        for (probe, model), system in SYSTEMS.items()
        for kind in about.kinds
        if model == "trained" and (probe, kind.name) in weighed
    ]


def _scores(about: Context, probes: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    if probe_lines(probes):
        yield "", partial(probe_scores, probes, paper=paper_of(about.run))


def _weights(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    for probe, _, kind, ending in weight_grids(about):
        rows = table[(table["probe"] == probe) & (table["kind"] == kind.name)]
        yield ending, partial(probe_weights, rows, kind=kind.name)


FIGURES = (
    Figure(name="probe-scores", tables=("probes",), draw=_scores),
    Figure(
        name="probe-distances", tables=("probe_by_distance",),
        draw=lambda _, rows: [("", partial(probe_distances, rows))],
    ),
    Figure(name="probe-weights", tables=("probe_weights",), draw=_weights),
    Figure(name="probe-layers", tables=("probe_layers",), draw=lambda _, rows: [("", partial(probe_layers, rows))]),
)  # fmt: skip
