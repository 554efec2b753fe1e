"""Behaviours as what heads show: on their cards, in the grid and the search, from text or from an experiment."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from headscope.analyses.behaviours.catalogue import BEHAVIOURS, NATURAL, Behaviour
from headscope.analyses.behaviours.chosen import heads_of, shown_of
from headscope.reporting.kit.measured import Measured
from headscope.reporting.kit.showings import Showable, Showing, Strongest
from headscope.statistics.measures import NORM

TOPIC = "Behaviours in text"
_PLACE = ["kind", "layer", "head"]


def showable(behaviour: Behaviour, *, where: str, topic: str, beside: str = "") -> Showable:
    """Return a behaviour's names.

    Args:
        behaviour: which.
        where: begins its name: `behaviour`, or the experiment's.
        topic: what stands above it.
        beside: what its label says beyond its name; empty in text.
    """
    return Showable(
        name=f"{where}.{behaviour.name}",
        label=f"{behaviour.name}{beside}",
        says=behaviour.label,
        topic=topic,
        words=behaviour.asked,
        role=behaviour.role,
        unit="tokens" if behaviour.unit == "tokens" else "",
    )


IN_TEXT = {
    name: showable(BEHAVIOURS[name], where="behaviour", topic=TOPIC) for name in NATURAL
}  # fmt: skip


def behaviours_showings(run: Measured) -> list[Showing]:
    """Return the behaviours in text that can occur; none where they were not measured."""
    heads, best = run.table("behaviours"), run.table("behaviours_best")
    if heads is None or best is None:
        return []
    return showings(heads, best, [(BEHAVIOURS[name], what) for name, what in IN_TEXT.items()])


def showings(
    heads: pd.DataFrame, best: pd.DataFrame, wanted: Sequence[tuple[Behaviour, Showable]]
) -> list[Showing]:
    """Return behaviours as what heads show, those that can occur.

    Args:
        heads: every head's numbers, as `layout.heads_table` lays them out, with `model`.
        best: the chosen heads, as `layout.best_table` lays them out, with `model`.
        wanted: which, and what each is called here.
    """
    own = heads_of(heads)
    own = own[own["n"] > 0]
    norms = heads_of(heads, measure=NORM).rename(columns={"value": "written"})
    chosen = {
        (one.kind, one.behaviour.name): Strongest(
            layer=one.layer,
            head=one.head,
            chance=float("nan") if one.control is None else one.control.mean,
            tested=one.tested,
        )
        for kind in dict.fromkeys(own["kind"])
        for one in shown_of(heads, best, kind, [behaviour for behaviour, _ in wanted])
    }
    made = []
    for behaviour, what in wanted:
        rows = own[own["behaviour"] == behaviour.name].merge(
            norms[norms["behaviour"] == behaviour.name][[*_PLACE, "written"]], on=_PLACE, how="left"
        )
        if rows.empty:
            continue
        strongest = {kind: one for (kind, name), one in chosen.items() if name == behaviour.name}
        made.append(Showing(what=what, heads=rows.reset_index(drop=True), strongest=strongest))
    return made
