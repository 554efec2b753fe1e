"""Antecedents as a target of heads: the accuracy of every head, and the words that people search for."""

from __future__ import annotations

from math import isnan

from headscope.analyses.coref.antecedent_results import Antecedents, SelectedHead, antecedents_of
from headscope.report_kit.measured import Measured
from headscope.report_kit.relation_names import COREFERENCE, short
from headscope.report_kit.targets import Findable, Selected, Target

ANTECEDENT = Findable(
    name=COREFERENCE,
    label=short(COREFERENCE),
    says="an earlier mention of the same entity",
    words=("coreference", "coref", "antecedent", "pronoun", "anaphora", "mention", "entity"),
)


def antecedent_targets(run: Measured) -> list[Target]:
    """Return the one target of coreference; none where the run has no coreference."""
    antecedents, table = antecedents_of(run), run.table("coref_heads")
    if antecedents is None:
        return []
    rows = None if table is None else table[(table["model"] == "trained") & (table["mention_type"] == "all")]
    heads = None if rows is None or rows.empty else rows
    nearest = antecedents.systems.get("nearest", {}).get("all")
    return [
        Target(
            what=ANTECEDENT,
            role=COREFERENCE,
            n=antecedents.counts.get("all", 0) if heads is None else int(heads["n_mentions"].max()),
            baseline=float("nan") if nearest is None else nearest.value,
            best=_selected(run, antecedents),
            heads=heads,
        )
    ]


def _selected(run: Measured, antecedents: Antecedents) -> Selected | None:
    chosen = antecedents.held_out
    if chosen is None:
        return None
    return Selected(
        kind=chosen.kind,
        layer=chosen.layer,
        head=chosen.head,
        accuracy=chosen.cells.get("all"),
        tested=not isnan(chosen.q),
        beats=_finds(run, chosen),
    )


def _finds(run: Measured, chosen: SelectedHead) -> bool:
    """Whether the head is among those that find antecedents."""
    rows = run.roles
    head_rows = rows[
        (rows["kind"] == chosen.kind) & (rows["layer"] == chosen.layer) & (rows["head"] == chosen.head)
    ]
    return any(COREFERENCE in list(finds) for finds in head_rows["finds"])
