"""Read the head that is chosen for each behavior, with its baselines, from the tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from headscope.analyses.behaviors.catalog import Behavior
from headscope.report_kit.tables.cells import Cell, ChosenHead, Runs, cell_of, chosen_head, number, records
from headscope.statistics.measures import NORM, WEIGHT, of_measure
from headscope.statistics.tables.head_table import is_false, is_true


@dataclass(frozen=True, kw_only=True)
class BehaviorHead(ChosenHead):
    """The head that is chosen for one behavior in one kind of attention.

    Attributes:
        behavior: behavior for which the head is chosen.
        estimate: its weight on held-out documents (cross-fitted), with that of uniform attention; on all documents
            where none could be held out.
        control: the same selection with random weights, over their seeds; None where there are no controls.
        heads: heads that show the behavior, the strongest first, 1-based.
        n_heads: number of heads.
        tested: True if there were enough documents to test the heads.
        by_norm: the chosen head's share of norm-weighted attention; None where it is not known.
        not_by_norm: heads in `heads` that do not show the behavior by norm-weighted attention.
    """

    behavior: Behavior
    estimate: Cell
    control: Runs | None
    heads: tuple[tuple[int, int], ...]
    n_heads: int
    tested: bool
    by_norm: Cell | None = None
    not_by_norm: tuple[tuple[int, int], ...] = ()


def heads_of(heads: pd.DataFrame, kind: str | None = None, measure: str = WEIGHT) -> pd.DataFrame:
    """Return the trained model's numbers of single heads, by one measure.

    Args:
        heads: table of all heads from `layout.heads_table`, with the column `model`.
        kind: kind of attention; None for all kinds.
        measure: one of `measures.MEASURES`.
    """
    rows = of_measure(heads, measure)
    rows = rows[(rows["model"] == "trained") & rows["head"].notna()]
    return rows if kind is None else rows[rows["kind"] == kind]


def chosen_heads(
    heads: pd.DataFrame, best: pd.DataFrame, kind: str, behaviors: Sequence[Behavior]
) -> list[BehaviorHead]:
    """Return the head chosen for each behavior that can occur in a kind of attention, in order.

    Args:
        heads: table of all heads from `layout.heads_table`, with the column `model`.
        best: table of the chosen heads from `layout.best_table`, with the column `model`.
        kind: kind of attention.
        behaviors: behaviors for which heads are chosen.
    """
    trained = heads_of(heads, kind)
    best_of_kind, norms = best[best["kind"] == kind], heads_of(heads, kind, NORM)
    selected = []
    for behavior in behaviors:
        rows, chosen, norm = (table[table["behavior"] == behavior.name] for table in (trained, best_of_kind, norms))
        rows, norm = rows[rows["n_rows"] > 0], norm[norm["n_rows"] > 0]
        named = records(chosen[chosen["model"] == "trained"])
        if not named or rows.empty:
            continue
        (row,) = named
        showing = rows[is_true(rows["shows"])].sort_values("value", ascending=False, kind="stable")
        norm_of_head = norm[(norm["layer"] == row["layer"]) & (norm["head"] == row["head"])]
        not_shown_by_norm = set(_head_numbers(norm[is_false(norm["shows"])]))
        selected.append(
            BehaviorHead(
                behavior=behavior,
                **chosen_head(row),
                estimate=replace(cell_of(row, "value"), uniform=number(row["uniform"])),
                control=_control(chosen[chosen["model"] == "control"]),
                heads=_head_numbers(showing),
                n_heads=len(rows),
                tested=bool(rows["shows"].notna().any()),
                by_norm=None if norm_of_head.empty else cell_of(records(norm_of_head)[0], "value"),
                not_by_norm=tuple(head for head in _head_numbers(showing) if head in not_shown_by_norm),
            )
        )
    return selected


def _head_numbers(rows: pd.DataFrame) -> tuple[tuple[int, int], ...]:
    return tuple(zip(rows["layer"].astype(int), rows["head"].astype(int), strict=True))


def _control(rows: pd.DataFrame) -> Runs | None:
    """Summarize the selection with random weights over seeds; held-out values are used where there are any."""
    values = rows["held_out"].fillna(rows["value"]).to_numpy(dtype=np.float64)
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    return Runs(float(values.mean()), float(values.min()), float(values.max()), len(values))
