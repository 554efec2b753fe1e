"""Finding antecedents as a function of heads: the accuracy of every head, and search words."""

from __future__ import annotations

from math import isnan

from headscope.analyses.coref.antecedent_results import Antecedents, SelectedHead, antecedents_of
from headscope.report_kit.head_functions import BestHead, FunctionScores, HeadFunction
from headscope.report_kit.relation_names import COREFERENCE, short
from headscope.study.study import Study

ANTECEDENT = HeadFunction(
    name=COREFERENCE,
    label=short(COREFERENCE),
    description="an earlier mention of the same entity",
    search_words=("coreference", "coref", "antecedent", "pronoun", "anaphora", "mention", "entity"),
    role=COREFERENCE,
    is_relation=True,
)


def antecedent_scores(run: Study) -> list[FunctionScores]:
    """Return the single function of coreference; empty where the run has no coreference."""
    antecedents, table = antecedents_of(run), run.tables.get("coref_heads")
    if antecedents is None:
        return []
    rows = None if table is None else table[(table["model"] == "trained") & (table["mention_type"] == "all")]
    heads = None if rows is None or rows.empty else rows.rename(columns={"accuracy": "value"})
    nearest = antecedents.systems.get("nearest", {}).get("all")
    return [
        FunctionScores(
            function=ANTECEDENT,
            n_cases=antecedents.counts.get("all", 0) if heads is None else int(heads["n_mentions"].max()),
            baseline=float("nan") if nearest is None else nearest.value,
            best=_best_head(run, antecedents),
            heads=heads,
        )
    ]


def _best_head(run: Study, antecedents: Antecedents) -> dict[str, BestHead]:
    chosen = antecedents.held_out
    if chosen is None:
        return {}
    is_tested, finds = not isnan(chosen.q), _finds(run, chosen)
    value = chosen.cells.get("all")
    return {chosen.kind: BestHead(layer=chosen.layer, head=chosen.head, value=value, tested=is_tested, passes=finds)}


def _finds(run: Study, chosen: SelectedHead) -> bool:
    """Return True if the head is among those that find antecedents."""
    rows = run.roles
    head_rows = rows[(rows["kind"] == chosen.kind) & (rows["layer"] == chosen.layer) & (rows["head"] == chosen.head)]
    return any(COREFERENCE in list(finds) for finds in head_rows["finds"])
