"""Read the curve of each order, and its difference from random orders, from the tables of heads removed together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from headscope.analyses.effects.joint.tables import AREA, LESS_RANDOM, RANDOM
from headscope.report_kit.tables.cells import Cell, cell_of, records

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


def curves_in(curves: pd.DataFrame, areas: pd.DataFrame) -> list[Curve]:
    """Return the curve of each order, the mean of the random ones last.

    Args:
        curves: `tables/joint_curves.parquet`.
        areas: `tables/joint_areas.parquet`.
    """
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
