"""The best head of each relation, from `syntax_best`: held-out, on the same data, and the controls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from headscope.report_kit.tables.cells import Cell, ChosenHead, Runs, cell_of, chosen_head, number, records, runs
from headscope.report_kit.words import OVERALL
from headscope.statistics.inference.significance import LEAST_SHARE, SIGNIFICANT
from headscope.study.study import Study
from headscope.study.values import once_a_study


@dataclass(frozen=True, kw_only=True)
class Best(ChosenHead):
    """A head selected for a relation, the fixed offset selected in the same way, and their difference.

    `accuracy` and `baseline` are the accuracies of the named head and offset, on documents that did not select them
    (for same-data selection: on all documents), `gap` their paired difference. `offset` is None where there is none,
    `q` NaN where nothing was tested.
    """

    direction: str
    accuracy: Cell
    offset: int | None
    baseline: Cell
    gap: Cell
    q: float

    @property
    def margin(self) -> float:
        """The head's accuracy minus the offset's, as a fraction."""
        return self.gap.value

    @property
    def tested(self) -> bool:
        """True if there were enough documents for a test."""
        return not isnan(self.q)

    @property
    def beats(self) -> bool:
        """True if selecting a head is shown to beat every fixed offset, by enough for a sentence."""
        return self.q < SIGNIFICANT and self.margin >= LEAST_SHARE


@dataclass(frozen=True)
class Relation:
    """All results on a relation's best heads; results that a run did not measure are None."""

    name: str
    n: int
    held_out: Best | None
    same_data: Best | None
    control: Runs | None
    shuffled: Runs | None

    @property
    def overall(self) -> bool:
        """True if this is a row over all relations, not one of them."""
        return self.name in OVERALL


Choice = tuple[Relation, Best]
"""A relation with its head selected held-out."""


@once_a_study
def relations_of(run: Study) -> tuple[Relation, ...]:
    """Return all relations, the widest margin above the offset first, those without a held-out head last."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in records(run.tables.get("syntax_best")):
        by_name.setdefault(str(row["relation"]), []).append(row)
    every = [_relation(name, rows) for name, rows in by_name.items()]
    return tuple(sorted(every, key=_order))


def choices(relations: Sequence[Relation]) -> list[Choice]:
    """Return the single relations that have a head selected held-out, each with that head."""
    return [(relation, relation.held_out) for relation in relations if not relation.overall and relation.held_out]


def _order(relation: Relation) -> tuple[bool, bool, float, str]:
    best = relation.held_out
    if best is None:
        return True, True, 0.0, relation.name
    margin = best.margin if not isnan(best.margin) else -1.0
    return False, not best.beats, -margin, relation.name


def _relation(name: str, rows: list[dict[str, Any]]) -> Relation:
    trained = {str(row["selection"]): _best(row) for row in rows if row["model"] == "trained"}
    return Relation(
        name=name,
        n=max((cell_of(row).n for row in rows), default=0),
        held_out=trained.get("held-out"),
        same_data=trained.get("same-data"),
        control=runs(rows, "control"),
        shuffled=runs(rows, "shuffled"),
    )


def _best(row: dict[str, Any]) -> Best | None:
    if isnan(number(row.get("layer"))):
        return None
    offset = number(row.get("baseline_offset"))
    return Best(
        **chosen_head(row),
        direction=str(row["direction"]),
        accuracy=cell_of(row),
        offset=None if isnan(offset) else int(offset),
        baseline=cell_of(row, "baseline_accuracy", "baseline_ci"),
        gap=cell_of(row, "margin", "margin_ci"),
        q=number(row.get("q_value")),
    )


def curve_relations(relations: Sequence[Relation], run: Study) -> list[str]:
    """Return the relations whose curves are drawn: those of table 1 with cases at some distance, in its order."""
    with_cases = {
        str(row["relation"]) for row in records(run.tables.get("syntax_by_distance")) if number(row["n_arcs"]) > 0
    }
    return [relation.name for relation, _ in choices(relations) if relation.name in with_cases]


def best_offsets(run: Study) -> dict[str, float]:
    """Return the accuracy of the best fixed offset of each relation."""
    table = run.tables.get("syntax_baselines")
    if table is None:
        return {}
    offsets = table[table["baseline"] == "offset"].dropna(subset="accuracy")
    return {str(name): float(value) for name, value in offsets.groupby("relation")["accuracy"].max().items()}
