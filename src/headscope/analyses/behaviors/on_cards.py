"""Behaviors as what heads show: on their cards, in the grid and the search, from text or from an experiment."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL, Behavior
from headscope.analyses.behaviors.chosen import heads_of, shown_of
from headscope.reporting.kit.measured import Measured
from headscope.reporting.kit.showings import Showable, Showing, Strongest
from headscope.statistics.measures import NORM

TOPIC = "Behaviors in text"
_PLACE = ["kind", "layer", "head"]


def showable(behavior: Behavior, *, where: str, topic: str, beside: str = "") -> Showable:
    """Return a behavior's names.

    Args:
        behavior: which.
        where: begins its name: `behavior`, or the experiment's.
        topic: what stands above it.
        beside: what its label says beyond its name; empty in text.
    """
    return Showable(
        name=f"{where}.{behavior.name}",
        label=f"{behavior.name}{beside}",
        says=behavior.label,
        topic=topic,
        words=behavior.asked,
        role=behavior.role,
        unit="tokens" if behavior.unit == "tokens" else "",
    )


IN_TEXT = {
    name: showable(BEHAVIORS[name], where="behavior", topic=TOPIC) for name in NATURAL
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
    """Return behaviors as what heads show, those that can occur.

    Args:
        heads: every head's numbers, as `layout.heads_table` lays them out, with `model`.
        best: the chosen heads, as `layout.best_table` lays them out, with `model`.
        wanted: which, and what each is called here.
    """
    own = heads_of(heads)
    own = own[own["n"] > 0]
    norms = heads_of(heads, measure=NORM).rename(columns={"value": "written"})
    chosen = {
        (one.kind, one.behavior.name): Strongest(
            layer=one.layer,
            head=one.head,
            chance=float("nan") if one.control is None else one.control.mean,
            tested=one.tested,
        )
        for kind in dict.fromkeys(own["kind"])
        for one in shown_of(heads, best, kind, [behavior for behavior, _ in wanted])
    }
    made = []
    for behavior, what in wanted:
        rows = own[own["behavior"] == behavior.name].merge(
            norms[norms["behavior"] == behavior.name][[*_PLACE, "written"]], on=_PLACE, how="left"
        )
        if rows.empty:
            continue
        strongest = {kind: one for (kind, name), one in chosen.items() if name == behavior.name}
        made.append(Showing(what=what, heads=rows.reset_index(drop=True), strongest=strongest))
    return made
