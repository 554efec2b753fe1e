"""A heat map of relations by layers: the accuracy of each layer's best head, and its margin over the best offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.patches import Rectangle

from headscope.figures.axes import hide_spines
from headscope.figures.style import INK, SOFT, figure_of, house_style, label, narrow, new_figure
from headscope.palette import palette

STEPS = 9
LEAST_WIDTH = 4.8
"""Width in inches that the key needs."""
TOP = 0.4
"""The margin over the best offset, as a fraction, from which the shade is strongest."""


@dataclass(frozen=True)
class LayerBest:
    """The best head and direction of one layer for one relation."""

    layer: int
    head: int
    direction: str
    accuracy: float
    ci_low: float
    ci_high: float
    above: float


def best_by_layer(syntax: pd.DataFrame, baselines: Mapping[str, float], *, kind: str) -> dict[str, list[LayerBest]]:
    """Select each layer's best head and direction for every relation from `tables/syntax.parquet`.

    Args:
        syntax: accuracies of all heads; only the trained model's rows of `kind` are used.
        baselines: relation to the accuracy of its best fixed offset, a fraction; NaN where it has none.
        kind: `encoder` or `decoder`.

    Returns:
        Relation to its layers in order; `above` is the accuracy minus the offset's. Ties go to the lower head.
    """
    rows = syntax[(syntax["model"] == "trained") & (syntax["kind"] == kind)]
    rows = rows[rows["accuracy"].notna()]
    if rows.empty:
        return {}
    order = rows.sort_values(["head", "direction"], kind="stable")
    best = order.loc[order.groupby(["relation", "layer"], sort=False)["accuracy"].idxmax()]
    offsets = best["relation"].astype(str).map(dict(baselines)).astype("float64")
    best = best.assign(above=best["accuracy"] - offsets).sort_values("layer")
    columns = [field.name for field in fields(LayerBest)]
    return {
        str(name): [LayerBest(*row) for row in rows[columns].itertuples(index=False, name=None)]
        for name, rows in best.groupby("relation", sort=False)
    }


def step_of(above: float) -> int:
    """Return the shade of a margin over the offset: 0 at or below it, 1 to 9 up to 40 points and more."""
    if not above > 0:
        return 0
    return min(1 + int(STEPS * above / TOP), STEPS)


def shade(step: int) -> str:
    """Return the color of a shade on white, `#rrggbb`: viridis from yellow (1) to violet (9)."""
    return str(to_hex(mpl.colormaps[palette().layers](1 - (step - 0.5) / STEPS)))


def on_shade(step: int) -> str:
    """Return the color of text on a shade, dark on the light half: a contrast of 4.5 at least."""
    return INK if step < 5 else "#000000" if step == 5 else "#ffffff"


@house_style()
def relation_layers(
    syntax: pd.DataFrame, baselines: Mapping[str, float], *, kind: str, relations: Sequence[str] | None = None
) -> Figure:
    """Draw the heat map of one kind: accuracy in percent in each cell, shaded by its margin over the best offset.

    Args:
        syntax: `tables/syntax.parquet`.
        baselines: relation to the accuracy of its best fixed offset.
        kind: `encoder` or `decoder`.
        relations: relations to draw, in order; all by default.

    Raises:
        ValueError: the table has no relation of this kind.
    """
    cells_by_relation = best_by_layer(syntax, baselines, kind=kind)
    names = [name for name in (relations if relations is not None else cells_by_relation) if name in cells_by_relation]
    if not names:
        raise ValueError(
            f"Expected accuracies of {kind} heads for at least one relation, got none; run with a larger treebank."
        )
    layers = max(cell.layer for name in names for cell in cells_by_relation[name])
    width = min(max(1.9 + 0.48 * layers, LEAST_WIDTH), 30.0)
    ax = new_figure(width, 1.15 + 0.27 * len(names)).subplots()
    for y, name in enumerate(names):
        for cell in cells_by_relation[name]:
            step = step_of(cell.above)
            if step:
                ax.add_patch(Rectangle((cell.layer - 0.48, y - 0.46), 0.96, 0.92, color=shade(step), linewidth=0))
            ax.text(
                cell.layer, y, f"{100 * cell.accuracy:.0f}", ha="center", va="center", fontsize=9,
                color=on_shade(step) if step else SOFT, gid="cell",
            )  # fmt: skip
    ax.set_xlim(0.4, layers + 0.6)
    ax.set_ylim(len(names) - 0.4, -0.6)
    ax.set_xticks(np.arange(1, layers + 1))
    ax.set_yticks(np.arange(len(names)), [label(name, 22) for name in names])
    ax.tick_params(axis="y", labelcolor=INK)
    ax.set_xlabel("layer")
    hide_spines(ax)
    _key(ax)
    return figure_of(ax)


def _key(ax: Axes) -> None:
    """Draw the key of the shades above the map: one swatch a step, from just above the offset to 40 points or more."""
    swatches = tuple(Rectangle((0, 0), 1, 1, facecolor=shade(step), linewidth=0) for step in range(1, STEPS + 1))
    between = "\n" if narrow() else " "
    ax.legend(
        handles=[swatches], labels=[f"points above the best{between}fixed offset: 0 to {100 * TOP:.0f} and more"],
        handler_map={tuple: HandlerTuple(ndivide=None, pad=0.0)}, handlelength=7.0, loc="lower right",
        bbox_to_anchor=(1.0, 1.0), borderaxespad=0.3, frameon=False, fontsize=8.5, labelcolor=SOFT,
    )  # fmt: skip
