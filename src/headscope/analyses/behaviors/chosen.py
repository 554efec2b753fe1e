"""The head that is chosen for each behavior, read back from the tables, with what it stands against."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from headscope.analyses.behaviors.catalog import Behavior
from headscope.reporting.kit.cells import Cell, Runs, cell_of, number, records
from headscope.statistics.measures import NORM, WEIGHT, of_measure


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One behavior of one kind of attention.

    Attributes:
        behavior: which.
        kind: of attention.
        layer, head: the head that is chosen, 1-based.
        own: its weight on documents that did not choose it, with uniform attention; on all where none was held out.
        every: its weight on all documents.
        held_out: what the choice is worth on documents that did not choose.
        share: how often halves of the documents choose it; NaN where nothing could be held out.
        control: the same selection with random weights, over their seeds; None where there are none.
        heads: heads that show it, the strongest first, 1-based.
        of: how many heads there are.
        tested: whether there were documents enough to say.
        written: the named head's share of what it writes; None where that is not known.
        unwritten: of `heads`, those of which what is written does not pass the rule.
    """

    behavior: Behavior
    kind: str
    layer: int
    head: int
    own: Cell
    every: Cell
    held_out: Cell
    share: float
    control: Runs | None
    heads: tuple[tuple[int, int], ...]
    of: int
    tested: bool
    written: Cell | None = None
    unwritten: tuple[tuple[int, int], ...] = ()


def heads_of(heads: pd.DataFrame, kind: str | None = None, measure: str = WEIGHT) -> pd.DataFrame:
    """Return the model's own numbers of single heads, by one measure.

    Args:
        heads: every head's numbers, as `layout.heads_table` lays them out, with `model`.
        kind: of attention; all when None.
        measure: of `measures.MEASURES`.
    """
    own = of_measure(heads, measure)
    own = own[(own["model"] == "trained") & own["head"].notna()]
    return own if kind is None else own[own["kind"] == kind]


def shown_of(
    heads: pd.DataFrame, best: pd.DataFrame, kind: str, behaviors: Sequence[Behavior]
) -> list[Shown]:
    """Return the behaviors that can occur in a kind of attention, in order.

    Args:
        heads: every head's numbers, as `layout.heads_table` lays them out, with `model`.
        best: the chosen heads, as `layout.best_table` lays them out, with `model`.
        kind: of attention.
        behaviors: which are asked about.
    """
    own_heads = heads_of(heads, kind)
    own_best, norms = best[best["kind"] == kind], heads_of(heads, kind, NORM)
    by_behavior = [dict(list(each.groupby("behavior", sort=False))) for each in (own_heads, own_best, norms)]
    nothing = own_heads[:0], own_best[:0], norms[:0]
    made = []
    for behavior in behaviors:
        rows, chosen, norm = (
            of.get(behavior.name, none) for of, none in zip(by_behavior, nothing, strict=True)
        )
        rows, norm = rows[rows["n"] > 0], norm[norm["n"] > 0]
        named = records(chosen[chosen["model"] == "trained"])
        if not named or rows.empty:
            continue
        (row,) = named
        over = rows[rows["shows"] == "yes"].sort_values("value", ascending=False, kind="stable")
        own = norm[(norm["layer"] == row["layer"]) & (norm["head"] == row["head"])]
        not_written = set(_places(norm[norm["shows"] == "no"]))
        made.append(
            Shown(
                behavior=behavior,
                kind=kind,
                layer=int(row["layer"]),
                head=int(row["head"]),
                own=_with_uniform(cell_of(row, "value"), number(row["uniform"])),
                every=cell_of(row, "all_documents", "all_documents_ci"),
                held_out=cell_of(row, "held_out", "held_out_ci"),
                share=number(row["share"]),
                control=_control(chosen[chosen["model"] == "control"]),
                heads=_places(over),
                of=len(rows),
                tested=bool(rows["shows"].notna().any()),
                written=None if own.empty else cell_of(records(own)[0], "value"),
                unwritten=tuple(place for place in _places(over) if place in not_written),
            )
        )
    return made


def _places(rows: pd.DataFrame) -> tuple[tuple[int, int], ...]:
    return tuple(zip(rows["layer"].astype(int), rows["head"].astype(int), strict=True))


def _with_uniform(cell: Cell, uniform: float) -> Cell:
    return Cell(cell.value, cell.ci_low, cell.ci_high, uniform, cell.n)


def _control(rows: pd.DataFrame) -> Runs | None:
    """Summarize what choosing is worth with random weights: held out where it could be."""
    values = rows["held_out"].fillna(rows["value"]).to_numpy(dtype=np.float64)
    values = values[~np.isnan(values)]
    if not len(values):
        return None
    return Runs(float(values.mean()), float(values.min()), float(values.max()), len(values))
