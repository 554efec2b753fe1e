"""Heads removed together: how many can go, by which measure, and whether effects add up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress, takewhile

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator

from headscope.analyses.effects.head_effects import nats_axis
from headscope.analyses.effects.tables import AREA, EFFECT, JOINT, LESS_RANDOM, R2_TOTAL, RANDOM
from headscope.present.blocks import Row
from headscope.present.cells import Cell, cell_of, records
from headscope.present.claim_rules import above, below
from headscope.present.facts import Fact
from headscope.present.figures.style import INK, LINE, SOFT, house_style, narrow, new_figure
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.statistics.inference.significance import LEAST_LOSS

CHEAP = 0.1
"""Added loss in nats below which removing heads is called cheap: the perplexity grows by a factor of 1.1."""
ADDING = 0.9
"""R² between sets above which effects count as additive."""
LABELS: Mapping[str, str] = {
    "effect": "effect on the loss",
    "attribution": "attribution",
    "gate": "gate estimate",
    "output_norm": "output norm",
    "explained": "share explained",
    "non_sink": "weight off the sink",
    RANDOM: "random heads",
}
"""The label of each order."""


@dataclass(frozen=True)
class Curve:
    """The added loss as heads are removed in an order.

    Attributes:
        order: name of the order, a key of `LABELS`.
        points: added losses by the number of heads removed, ascending from 0.
        area: area below the curve.
        less_random: area minus that of the mean of random orders.
    """

    order: str
    points: Mapping[int, Cell]
    area: Cell
    less_random: Cell

    @property
    def label(self) -> str:
        """The label of the order."""
        return LABELS[self.order]


def curves_in(about: Context) -> list[Curve]:
    """Return the curve of each order, the mean of the random ones last; empty where no heads were removed together."""
    curves, areas = (about.run.tables.get(name) for name in ("joint_curves", "joint_areas"))
    if curves is None or areas is None:
        return []
    points: dict[str, dict[int, Cell]] = {}
    for row in records(curves[curves["draw"].isna()]):
        points.setdefault(row["order"], {})[int(row["n_removed"])] = cell_of(row, "value")
    measures = {(row["order"], row["measure"]): cell_of(row, "value") for row in records(areas[areas["draw"].isna()])}
    return [
        Curve(order, of_order, measures[order, AREA], measures[order, LESS_RANDOM])
        for order, of_order in points.items()
    ]


def random_band(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the smallest and the largest loss of the random orders: `min` and `max`, by the number of heads removed.

    Args:
        curves: `tables/joint_curves.parquet`.
    """
    drawn = curves[curves["draw"].notna()]
    return drawn.groupby("n_removed")["value"].agg(["min", "max"])


class JointFact(Fact):
    """A claim on heads that are removed together."""

    topic = "joint_effects"
    rank = 6


@dataclass(frozen=True, kw_only=True)
class Removable(JointFact):
    """The largest number of heads, of `of`, such that it and all smaller numbers are cheap to remove.

    If even the smallest number is not, `cheap` is false and the claim is about this number.
    """

    number: int
    of: int
    added: Cell
    cheap: bool


@dataclass(frozen=True, kw_only=True)
class Orders(JointFact):
    """The measures, of `every`, by which removing heads costs less than removing random heads, and those with more."""

    less: Sequence[str]
    more: Sequence[str]
    every: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Adding(JointFact):
    """Whether effects of single heads add up to the loss that sets of them add, on average and between sets.

    Attributes:
        n_sets, n_removed: number of sets, and of the heads of each.
        sets: added loss of a set, sum of the effects of its heads, nats, and R² between sets of this sum and of a
            linear model for held-out sets, by measure of `joint_sums`.
    """

    n_sets: int
    n_removed: int
    sets: Mapping[str, Cell]


def joint_facts(about: Context) -> Iterator[Fact]:
    """Yield how many heads can be removed, how orders compare with random ones, and whether effects add up."""
    every, sums = curves_in(about), about.run.tables.get("joint_sums")
    if not every or sums is None:
        return
    by_effect = next(curve for curve in every if curve.order == EFFECT)
    sets = {row["measure"]: cell_of(row, "value") for row in records(sums)}
    yield from _removable(by_effect)
    # If removing all heads together, or sets of them, is not shown to add loss, no order is better than another.
    if above([list(by_effect.points.values())[-1]], least=LEAST_LOSS) == [True]:
        named = [curve for curve in every if curve.order != RANDOM]
        gaps = [curve.less_random for curve in named]
        if any(gap.has_interval for gap in gaps):
            labels = [curve.label for curve in named]
            less, more = (list(compress(labels, side(gaps, least=LEAST_LOSS))) for side in (below, above))
            yield Orders(less=less, more=more, every=labels)
    if above([sets[JOINT]], least=LEAST_LOSS) == [True] and sets[R2_TOTAL].has_interval:
        yield Adding(n_sets=int(sums["n_sets"].iloc[0]), n_removed=int(sums["n_removed"].iloc[0]), sets=sets)


def _removable(curve: Curve) -> Iterator[Fact]:
    removed = {number: cell for number, cell in curve.points.items() if number}
    cheap = list(takewhile(lambda number: removed[number].ci_high < CHEAP, removed))
    number = cheap[-1] if cheap else next(iter(removed))
    added, of = removed[number], max(removed)
    if cheap or not added.has_interval or above([added], least=LEAST_LOSS) == [True]:
        yield Removable(number=number, of=of, added=added, cheap=bool(cheap))


def joint_rows(about: Context) -> list[Row]:
    """Return the added loss of every order by the number of heads removed, the area below it, and that less random."""
    return [
        {
            **{str(number): cell for number, cell in curve.points.items()},
            "order": curve.label,
            "area": curve.area,
            "less_random": curve.less_random,
        }
        for curve in curves_in(about)
    ]


def removed_columns(about: Context) -> dict[str, tuple[str, str]]:
    """Return a column of the table for each number of heads removed."""
    return {
        f"{number:,}": (str(number), "precise") for curve in curves_in(about)[:1] for number in curve.points if number
    }


_LINEAR = 0.03
"""Distance from 0 up to which the axis is linear, nats; beyond it the axis is logarithmic."""


def draw_joint(about: Context, curves: pd.DataFrame, _: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the figure."""
    if every := curves_in(about):
        yield "", partial(joint_figure, every, random_band(curves))


def joint_figure(curves: Sequence[Curve], band: pd.DataFrame) -> matplotlib.figure.Figure:
    """Draw the added loss by the number of heads removed, each order with its interval in front of random orders.

    Args:
        curves: curves of the named orders, and the mean of the random orders.
        band: smallest and largest loss of a random order, by the number of heads removed.
    """
    named = [curve for curve in curves if curve.order != RANDOM]
    random = next(curve for curve in curves if curve.order == RANDOM)
    columns = min(len(named), 2 if narrow() or len(named) == 4 else 3)
    rows = -(-len(named) // columns)
    with house_style():
        figure = new_figure(2.8 * columns, 2.2 * rows)
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for ax in panels.flat[len(named) :]:
            ax.set_axis_off()
        for index, (ax, curve) in enumerate(zip(panels.flat, named, strict=False)):
            _panel(ax, curve, random, band)
            if index % columns == 0:
                ax.set_ylabel("added loss, nats")
            if index + columns >= len(named):  # the lowest of its column
                ax.set_xlabel("heads removed")
                ax.tick_params(labelbottom=True)
        return figure


def _panel(ax: Axes, curve: Curve, random: Curve, band: pd.DataFrame) -> None:
    at = np.array(list(curve.points))
    nats_axis(ax, "y", linear=_LINEAR)
    ax.yaxis.set_major_locator(FixedLocator([-1, -0.1, 0, 0.1, 1, 10]))
    ax.axhline(0, color=LINE, linewidth=1.0, zorder=0)
    ax.fill_between(band.index, band["min"], band["max"], color=LINE, linewidth=0, zorder=1, gid="band")
    ax.plot(at, [cell.value for cell in random.points.values()], color=SOFT, linewidth=1.2, zorder=2, gid="random")
    low, high = (np.array([getattr(cell, end) for cell in curve.points.values()]) for end in ("ci_low", "ci_high"))
    value = np.array([cell.value for cell in curve.points.values()])
    if np.isfinite(low).any():
        ax.fill_between(at, low, high, color=INK, alpha=0.25, linewidth=0, zorder=3, gid="interval")
    ax.plot(at, value, color=INK, linewidth=1.6, marker="o", markersize=5.0, zorder=4, clip_on=False, gid="order")
    ax.set_xlim(0, at[-1])
    ax.set_xticks(at[at != at[1]] if len(at) > 4 else at)
    ax.set_title(curve.label)


FIGURE = Figure(name="figure-joint-effects", tables=("joint_curves", "joint_areas"), draw=draw_joint)
USES = (Removable, Orders, Adding, joint_rows, removed_columns)
