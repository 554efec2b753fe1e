"""Numbers of the tables in the form that the report uses: a value with its interval, and summaries over seeds."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from headscope.statistics.tables.columns import COUNTS


@dataclass(frozen=True)
class Runs:
    """Mean, lowest and highest accuracy of the same selection on another model, over its seeds."""

    mean: float
    lowest: float
    highest: float
    seeds: int


def cell_of(row: dict[str, Any], value: str = "accuracy", prefix: str = "ci") -> Cell:
    """Read a number with its interval and count from a row; missing values and null are NaN."""
    n = next((row[name] for name in row if name.startswith(COUNTS)), None)
    return Cell(
        number(row.get(value)), number(row.get(f"{prefix}_low")), number(row.get(f"{prefix}_high")), float("nan"),
        0 if n is None or pd.isna(n) else int(n),
    )  # fmt: skip


def number(value: Any) -> float:
    """Return a value of a table as float; null is NaN."""
    return float("nan") if value is None or pd.isna(value) else float(value)


def records(table: pd.DataFrame | None) -> list[dict[str, Any]]:
    """Return a table's rows; empty if there is no table."""
    if table is None:
        return []
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def rows_by_head(
    table: pd.DataFrame, *columns: str
) -> list[tuple[tuple[int, int], dict[tuple[Any, ...], dict[str, Any]]]]:
    """Return layer and head of each head in a table, in order, with its rows by their values in `columns`."""
    heads: dict[tuple[int, int], dict[tuple[Any, ...], dict[str, Any]]] = {}
    for row in records(table):
        rows = heads.setdefault((int(row["layer"]), int(row["head"])), {})
        rows[tuple(row[column] for column in columns)] = row
    return sorted(heads.items())


def runs(rows: list[dict[str, Any]], model: str) -> Runs | None:
    """Summarize the held-out selections of one model over its seeds; None if it has none."""
    values = [number(row["held_out"]) for row in rows
              if row["model"] == model and row.get("selection") == "held-out"]  # fmt: skip
    known = np.array([value for value in values if not isnan(value)])
    if not len(known):
        return None
    return Runs(float(known.mean()), float(known.min()), float(known.max()), len(known))


@dataclass(frozen=True)
class Cell:
    """One number with its interval; `value` is NaN if the statistic cannot occur, an end if it has no interval."""

    value: float
    ci_low: float
    ci_high: float
    uniform: float
    n: int

    @property
    def exists(self) -> bool:
        """True if the statistic can occur here."""
        return not np.isnan(self.value)

    @property
    def has_interval(self) -> bool:
        """True if there were enough documents for an interval."""
        return not (np.isnan(self.ci_low) or np.isnan(self.ci_high))

    @property
    def low(self) -> float:
        """The value that a claim of "more than" uses: the interval's lower end; the value if there is no interval."""
        return self.ci_low if self.has_interval else self.value

    @property
    def high(self) -> float:
        """The value that a claim of "less than" uses: the interval's upper end; the value if there is no interval."""
        return self.ci_high if self.has_interval else self.value


NO_NUMBER = Cell(float("nan"), float("nan"), float("nan"), float("nan"), 0)


@dataclass(frozen=True, kw_only=True)
class ChosenHead:
    """A head that was selected for a function, on halves of the documents or on all documents.

    Attributes:
        kind, layer, head: the head.
        share: share of the halves that selected it; NaN if nothing was held out.
        all_documents: its value on all documents, too high if heads are nearly equal.
        held_out: held-out value of such a selection.
    """

    kind: str
    layer: int
    head: int
    share: float
    all_documents: Cell
    held_out: Cell


def chosen_head(row: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a `ChosenHead` from its row of a table."""
    return {
        "kind": str(row["kind"]),
        "layer": int(row["layer"]),
        "head": int(row["head"]),
        "share": number(row.get("share")),
        "all_documents": cell_of(row, "all_documents", "all_documents_ci"),
        "held_out": cell_of(row, "held_out", "held_out_ci"),
    }
