"""The best head of each relation, read from the tables: for pages, for head functions and for `study.heads`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

import pandas as pd

from headscope.present.cells import Cell, ChosenHead, Runs, cell_of, chosen_head, number, records, runs
from headscope.present.head_functions import DIRECTIONS, BestHead, FunctionScores, HeadFunction
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.present.words import OVERALL, RELATIONS, gloss, short, terms
from headscope.statistics.inference.significance import LEAST_SHARE, SIGNIFICANT
from headscope.statistics.tables.frames import TOTALS


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


def curve_relations(run: Study) -> list[str]:
    """Return the relations whose curves are drawn: those of table 1 with cases at some distance, in its order."""
    with_cases = {
        str(row["relation"]) for row in records(run.tables.get("syntax_by_distance")) if number(row["n_arcs"]) > 0
    }
    return [relation.name for relation, _ in choices(relations_of(run)) if relation.name in with_cases]


def best_offsets(baselines: pd.DataFrame | None) -> dict[str, float]:
    """Return the accuracy of the best fixed offset of each relation from `tables/syntax_baselines.parquet`."""
    if baselines is None:
        return {}
    offsets = baselines[baselines["baseline"] == "offset"].dropna(subset="accuracy")
    return {str(name): float(value) for name, value in offsets.groupby("relation")["accuracy"].max().items()}


ROLE = "syntax"
_SEARCHED = {name: known["search_words"] for name, known in RELATIONS.items() if "search_words" in known}


def relation(name: str) -> HeadFunction:
    """Return the names of a relation; a sub-type has its base's search words if it has no terms of its own."""
    known = terms(name)
    base = name.split(":", 1)[0]
    known_as = _SEARCHED.get(name, _SEARCHED.get(base, ()) if known == terms(base) else ())
    words = (name, *known_as, *(known[:1] if known else ()))
    return HeadFunction(
        name=name, label=short(name), description=gloss(name), search_words=words, role=ROLE, is_relation=True
    )


UNIVERSAL = tuple(relation(name) for name in _SEARCHED if name not in ("dobj", "poss"))


def relation_scores(run: Study) -> list[FunctionScores]:
    """Return the relations of a run, in the order of its tables; empty where it has no treebank."""
    chosen = {relation.name: relation for relation in relations_of(run)}
    offsets = best_offsets(run.tables.get("syntax_baselines"))
    table = run.tables.get("syntax")
    rows: dict[str, pd.DataFrame] = {}
    if table is not None:
        trained = table[(table["model"] == "trained") & table["direction"].isin(DIRECTIONS)]
        trained = trained.rename(columns={"accuracy": "value"})
        rows = {str(name): accuracies for name, accuracies in trained.groupby("relation", sort=False)}
    scores = []
    for name in dict.fromkeys([*rows, *chosen]):
        accuracies = rows.get(name)
        best = {}
        if name in chosen and (head := chosen[name].held_out):
            best[head.kind] = BestHead(
                layer=head.layer, head=head.head, value=head.accuracy, tested=head.tested, passes=head.beats
            )
        scores.append(
            FunctionScores(
                function=relation(name),
                n_cases=chosen[name].n if accuracies is None else int(accuracies["n_arcs"].max()),
                baseline=offsets.get(name, float("nan")),
                best=best,
                heads=accuracies,
                overall=name in OVERALL,
            )
        )
    return scores


_HEAD = ["kind", "layer", "head"]


def best_relations(read: Callable[[str], pd.DataFrame | None]) -> pd.DataFrame | None:
    """Return the relation at which each head exceeds the best fixed offset by most, and the margin.

    Columns `best_relation`, with its direction, and `best_relation_margin`, a share; on all documents, so the best of
    many is an optimistic number: the column `finds` has the relations that are established.
    """
    heads, baselines = read("syntax"), read("syntax_baselines")
    if heads is None or baselines is None:
        return None
    rows = heads[(heads["model"] == "trained") & ~heads["relation"].isin(TOTALS)]
    offsets = rows["relation"].map(best_offsets(baselines)).astype("float64")
    rows = rows.assign(margin=rows["accuracy"] - offsets).dropna(subset="margin")
    if rows.empty:
        return None
    best = rows.loc[rows.groupby(_HEAD)["margin"].idxmax()].set_index(_HEAD)
    return pd.DataFrame(
        {"best_relation": best["relation"] + " " + best["direction"], "best_relation_margin": best["margin"]}
    )
