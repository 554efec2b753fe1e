"""A table for a paper: the head chosen for each behavior in text, with uniform attention and random weights."""

from __future__ import annotations

import pandas as pd

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL
from headscope.analyses.behaviors.chosen import BehaviorHead, chosen_heads
from headscope.report_kit.kinds import Kind, kinds_of
from headscope.report_kit.tables.paper_columns import (
    count_column,
    interval_columns,
    percent_column,
    says_intervals,
    words_column,
)
from headscope.study.paper_table import PaperTable
from headscope.study.study import Study


def best_heads(run: Study) -> PaperTable | None:
    """Return the table; None where behaviors were not measured."""
    heads, best = run.tables.get("behaviors"), run.tables.get("behaviors_best")
    if heads is None or best is None:
        return None
    kinds, behaviors = kinds_of(run), [BEHAVIORS[name] for name in NATURAL]
    rows = [
        _row(chosen, kind)
        for kind in kinds
        for chosen in chosen_heads(heads, best, kind.name, behaviors)
        if chosen.behavior.unit != "tokens"
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


def _row(chosen: BehaviorHead, kind: Kind) -> dict[str, object]:
    nothing = float("nan")
    control = nothing if chosen.control is None else chosen.control.mean
    return {
        "behavior": chosen.behavior.name,
        "head": kind.head_label(chosen.layer, chosen.head),
        **interval_columns("attention", chosen.estimate),
        **{**interval_columns("uniform", None), "uniform": chosen.estimate.uniform},
        **{**interval_columns("random_weights", None), "random_weights": control},
        "n_showing": len(chosen.heads) if chosen.tested else None,
    }
