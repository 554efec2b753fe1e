"""Behaviors as functions of heads, for cards, the grid and the search: in text, and in experiments."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from headscope.analyses.behaviors.catalog import BEHAVIORS
from headscope.analyses.behaviors.chosen import BehaviorHead, chosen_heads, heads_of
from headscope.analyses.behaviors.tables import HEAD_LABELS
from headscope.declarations.head_measures import MeasureLabel
from headscope.report_kit.head_functions import BestHead, FunctionScores, HeadFunction
from headscope.statistics.measures import NORM
from headscope.study.study import Study

_HEAD = ["kind", "layer", "head"]


def behavior_function(column: str, name: str, label: MeasureLabel) -> HeadFunction:
    """Return a behavior as a function of heads.

    Args:
        column: column of `study.heads` with its values.
        name: name of the behavior.
        label: label of the column.
    """
    return HeadFunction(
        name=column,
        label=label.label,
        description=label.description,
        search_words=BEHAVIORS[name].search_words,
        role=BEHAVIORS[name].role,
    )


IN_TEXT = {name: behavior_function(f"behaviors.{name}", name, label) for (name,), label in HEAD_LABELS.items()}


def text_scores(run: Study) -> list[FunctionScores]:
    """Return the behaviors in text that can occur; none where they were not measured."""
    heads, best = run.tables.get("behaviors"), run.tables.get("behaviors_best")
    return [] if heads is None or best is None else behavior_scores(heads, best, IN_TEXT)


def behavior_scores(
    heads: pd.DataFrame, best: pd.DataFrame, functions: Mapping[str, HeadFunction]
) -> list[FunctionScores]:
    """Return the scores of the behaviors that can occur.

    Args:
        heads: table of all heads from `layout.heads_table`, with the column `model`.
        best: table of the chosen heads from `layout.best_table`, with the column `model`.
        functions: functions by the names of the behaviors.
    """
    trained = heads_of(heads)
    trained = trained[trained["n_rows"] > 0]
    norms = heads_of(heads, measure=NORM).rename(columns={"value": "norm"})
    behaviors = [BEHAVIORS[name] for name in functions]
    chosen = {
        (head.kind, head.behavior.name): _best_head(head)
        for kind in dict.fromkeys(trained["kind"])
        for head in chosen_heads(heads, best, kind, behaviors)
    }
    scores = []
    for name, function in functions.items():
        norms_of_behavior = norms.loc[norms["behavior"] == name, [*_HEAD, "norm"]]
        rows = trained[trained["behavior"] == name].merge(norms_of_behavior, on=_HEAD, how="left")
        if len(rows):
            best_heads = {kind: head for (kind, behavior), head in chosen.items() if behavior == name}
            scores.append(FunctionScores(function=function, heads=rows, best=best_heads))
    return scores


def _best_head(chosen: BehaviorHead) -> BestHead:
    return BestHead(
        layer=chosen.layer,
        head=chosen.head,
        value=chosen.estimate,
        chance=float("nan") if chosen.control is None else chosen.control.mean,
        tested=chosen.tested,
        passes=(chosen.layer, chosen.head) in chosen.heads,
    )
