"""The heads that are chosen for behaviors, with their baselines: read from the tables, as functions, and in a paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from headscope.analyses.behaviors.catalog import BEHAVIORS, Behavior
from headscope.analyses.behaviors.tables import BEHAVIORS_BEST, BEHAVIORS_TABLE, HEAD_LABELS
from headscope.present.cells import Cell, ChosenHead, Runs, cell_of, chosen_head, number, records
from headscope.present.head_functions import BestHead, FunctionScores, HeadFunction
from headscope.present.kinds import kinds_of
from headscope.present.numbers import count_column, interval_columns, percent_column, says_intervals, words_column
from headscope.present.paper_table import PaperTable
from headscope.present.study import Study
from headscope.present.values import once_a_study
from headscope.scans.declarations.head_measures import MeasureLabel
from headscope.statistics.tables.frames import NORM, WEIGHT, is_false, is_true, of_measure

Positions = tuple[tuple[int, int], ...]
"""Layers and heads, 1-based."""
_HEAD = ["kind", "layer", "head"]


@dataclass(frozen=True, kw_only=True)
class BehaviorHead(ChosenHead):
    """The head that is chosen for one behavior in one kind of attention.

    Attributes:
        behavior: behavior for which the head is chosen.
        estimate: its weight on held-out documents (cross-fitted), with that of uniform attention; on all documents
            where none could be held out.
        control: the same selection with random weights, over their seeds; None where there are no controls.
        heads: heads that show the behavior, the strongest first.
        n_heads: number of heads.
        tested: True if there were enough documents to test the heads.
        by_norm: the chosen head's share of norm-weighted attention; None where it is not known.
        not_by_norm: heads in `heads` that do not show the behavior by norm-weighted attention.
    """

    behavior: Behavior
    estimate: Cell
    control: Runs | None
    heads: Positions
    n_heads: int
    tested: bool
    by_norm: Cell | None = None
    not_by_norm: Positions = ()

    @property
    def shows(self) -> bool:
        """True if the chosen head shows the behavior."""
        return (self.layer, self.head) in self.heads

    @property
    def chance(self) -> float:
        """The mean of the same selection with random weights; NaN where there are no controls."""
        return float("nan") if self.control is None else self.control.mean

    @property
    def as_best(self) -> BestHead:
        """The head as that selected for a function."""
        return BestHead(
            layer=self.layer, head=self.head, value=self.estimate, chance=self.chance, tested=self.tested,
            passes=self.shows,
        )  # fmt: skip


def tables_of(run: Study, experiment: str = "") -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return every head's numbers and the chosen heads, in text or in an experiment; empty if not measured."""
    names = ("experiments", "experiments_best") if experiment else ("behaviors", "behaviors_best")
    if not all(name in run.tables for name in names):
        return BEHAVIORS_TABLE.frame([]), BEHAVIORS_BEST.frame([])
    heads, best = (run.tables[name] for name in names)
    if experiment:
        heads, best = (table[table["experiment"] == experiment] for table in (heads, best))
    return heads, best


def heads_of(heads: pd.DataFrame, kind: str | None = None, measure: str = WEIGHT) -> pd.DataFrame:
    """Return the trained model's numbers of single heads, by one measure, of the rows in which a behavior can occur.

    Args:
        heads: table of all heads from `compute.heads_table`, with the column `model`.
        kind: kind of attention; None for all kinds.
        measure: one of `frames.MEASURES`.
    """
    rows = of_measure(heads, measure)
    rows = rows[(rows["model"] == "trained") & rows["head"].notna() & (rows["n_rows"] > 0)]
    return rows if kind is None else rows[rows["kind"] == kind]


@once_a_study
def chosen_heads(run: Study, kind: str, experiment: str) -> list[BehaviorHead]:
    """Return the head chosen for each behavior that can occur in a kind of attention, in text or in an experiment.

    Args:
        run: the run.
        kind: kind of attention.
        experiment: name of the experiment; empty for text.
    """
    heads, best = tables_of(run, experiment)
    trained, norms = heads_of(heads, kind), heads_of(heads, kind, NORM)
    best = best[best["kind"] == kind]
    selected = []
    for name in dict.fromkeys(trained["behavior"]):
        rows, chosen, norm = (table[table["behavior"] == name] for table in (trained, best, norms))
        for row in records(chosen[chosen["model"] == "trained"]):
            showing = _positions(rows[is_true(rows["shows"])].sort_values("value", ascending=False, kind="stable"))
            norm_of_head = norm[(norm["layer"] == row["layer"]) & (norm["head"] == row["head"])]
            not_shown_by_norm = set(_positions(norm[is_false(norm["shows"])]))
            selected.append(
                BehaviorHead(
                    behavior=BEHAVIORS[name],
                    **chosen_head(row),
                    estimate=replace(cell_of(row, "value"), uniform=number(row["uniform"])),
                    control=_control(chosen[chosen["model"] == "control"]),
                    heads=showing,
                    n_heads=len(rows),
                    tested=bool(rows["shows"].notna().any()),
                    by_norm=None if norm_of_head.empty else cell_of(records(norm_of_head)[0], "value"),
                    not_by_norm=tuple(head for head in showing if head in not_shown_by_norm),
                )
            )
    return selected


def _positions(rows: pd.DataFrame) -> Positions:
    return tuple(zip(rows["layer"].astype(int), rows["head"].astype(int), strict=True))


def _control(rows: pd.DataFrame) -> Runs | None:
    """Summarize the selection with random weights over seeds; held-out values are used where there are any."""
    values = rows["held_out"].fillna(rows["value"]).dropna().to_numpy(dtype=np.float64)
    return Runs(float(values.mean()), float(values.min()), float(values.max()), len(values)) if len(values) else None


def behavior_function(column: str, label: MeasureLabel) -> HeadFunction:
    """Return a behavior as a function of heads, from its column of `study.heads` and the label of that column."""
    behavior = BEHAVIORS[column.rpartition(".")[2]]
    return HeadFunction(
        name=column, label=label.label, description=label.description, search_words=behavior.search_words,
        role=behavior.role,
    )  # fmt: skip


IN_TEXT = {name: behavior_function(f"behaviors.{name}", label) for (name,), label in HEAD_LABELS.items()}


def behavior_scores(run: Study, functions: Mapping[str, HeadFunction], experiment: str = "") -> list[FunctionScores]:
    """Return the scores of the behaviors that can occur, in text or in an experiment.

    Args:
        run: the run.
        functions: functions by the names of the behaviors.
        experiment: name of the experiment; empty for text.
    """
    heads, _ = tables_of(run, experiment)
    trained, norms = heads_of(heads), heads_of(heads, measure=NORM).rename(columns={"value": "norm"})
    chosen = [head for kind in dict.fromkeys(trained["kind"]) for head in chosen_heads(run, kind, experiment)]
    scores = []
    for name, function in functions.items():
        norm = norms.loc[norms["behavior"] == name, [*_HEAD, "norm"]]
        rows = trained[trained["behavior"] == name].merge(norm, on=_HEAD, how="left")
        if len(rows):
            best = {head.kind: head.as_best for head in chosen if head.behavior.name == name}
            scores.append(FunctionScores(function=function, heads=rows, best=best))
    return scores


def paper_table(run: Study) -> PaperTable | None:
    """Return a table for a paper, of the head chosen for each behavior in text; None if they were not measured."""
    rows = [
        {
            "behavior": chosen.behavior.name,
            "head": kind.head_label(chosen.layer, chosen.head),
            **interval_columns("attention", chosen.estimate),
            **_no_interval("uniform", chosen.estimate.uniform),
            **_no_interval("random_weights", chosen.chance),
            "n_showing": len(chosen.heads) if chosen.tested else None,
        }
        for kind in kinds_of(run)
        for chosen in chosen_heads(run, kind.name, "")
    ]
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    columns = (
        words_column("behavior", "behavior"),
        words_column("head", "head"),
        percent_column("its attention", "attention"),
        percent_column("uniform", "uniform"),
        percent_column("random weights", "random_weights"),
        count_column("heads", "n_showing"),
    )
    caption = (
        "The head chosen for each behavior by halves of the documents, with its attention on documents that did not "
        f"choose it, in percent{says_intervals(frame)}; uniform attention in the same rows; the best head "
        "of models with random weights. Heads: how many show the behavior, at a false discovery rate of 5%."
    )
    return PaperTable("table-behaviors", caption, frame, columns)


def _no_interval(name: str, value: float) -> dict[str, float]:
    return {**interval_columns(name, None), name: value}
