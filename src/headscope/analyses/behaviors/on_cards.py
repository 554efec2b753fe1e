"""Behaviors on heads' cards, in the grid and in the search, from text or from an experiment."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL, Behavior
from headscope.analyses.behaviors.chosen import chosen_heads, heads_of
from headscope.report_kit.measured import Measured
from headscope.report_kit.showings import Showable, Showing, Strongest
from headscope.statistics.measures import NORM

TOPIC = "Behaviors in text"
_PLACE = ["kind", "layer", "head"]


def showable(behavior: Behavior, *, where: str, topic: str, beside: str = "") -> Showable:
    """Return a behavior as something that heads show, with its names.

    Args:
        behavior: which.
        where: begins its name in `study.heads`: the analysis, with the experiment behind it.
        topic: what stands above it.
        beside: what its label says beyond its name; empty in text.
    """
    return Showable(
        name=f"{where}.{behavior.name}",
        label=f"{behavior.name}{beside}",
        says=behavior.label,
        topic=topic,
        words=behavior.search_words,
        role=behavior.role,
        unit="tokens" if behavior.unit == "tokens" else "",
    )


IN_TEXT = {
    name: showable(BEHAVIORS[name], where="behaviors", topic=TOPIC) for name in NATURAL
}  # fmt: skip


def behaviors_showings(run: Measured) -> list[Showing]:
    """Return the behaviors in text that can occur; none where they were not measured."""
    heads, best = run.table("behaviors"), run.table("behaviors_best")
    if heads is None or best is None:
        return []
    return showings(heads, best, [(BEHAVIORS[name], what) for name, what in IN_TEXT.items()])


def showings(
    heads: pd.DataFrame, best: pd.DataFrame, wanted: Sequence[tuple[Behavior, Showable]]
) -> list[Showing]:
    """Return the behaviors that can occur, as what heads show.

    Args:
        heads: every head's numbers, as `layout.heads_table` lays them out, with `model`.
        best: the chosen heads, as `layout.best_table` lays them out, with `model`.
        wanted: which, and what each is called here.
    """
    trained = heads_of(heads)
    trained = trained[trained["n_rows"] > 0]
    norms = heads_of(heads, measure=NORM).rename(columns={"value": "written"})
    chosen = {
        (best_head.kind, best_head.behavior.name): Strongest(
            layer=best_head.layer,
            head=best_head.head,
            chance=float("nan") if best_head.control is None else best_head.control.mean,
            tested=best_head.tested,
        )
        for kind in dict.fromkeys(trained["kind"])
        for best_head in chosen_heads(heads, best, kind, [behavior for behavior, _ in wanted])
    }
    result = []
    for behavior, what in wanted:
        rows = trained[trained["behavior"] == behavior.name].merge(
            norms[norms["behavior"] == behavior.name][[*_PLACE, "written"]], on=_PLACE, how="left"
        )
        if rows.empty:
            continue
        strongest = {kind: best_head for (kind, name), best_head in chosen.items() if name == behavior.name}
        result.append(Showing(what=what, heads=rows.reset_index(drop=True), strongest=strongest))
    return result
