"""Dependency relations as functions of heads: the scores of every head for each relation, and search words."""

from __future__ import annotations

import pandas as pd

from headscope.analyses.syntax.relations import Best, best_offsets, relations_of
from headscope.report_kit.head_functions import DIRECTIONS, BestHead, FunctionScores, HeadFunction
from headscope.report_kit.words import OVERALL, RELATIONS, gloss, short, terms
from headscope.study.study import Study

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
    chosen, offsets = {relation.name: relation for relation in relations_of(run)}, best_offsets(run)
    table = run.tables.get("syntax")
    rows: dict[str, pd.DataFrame] = {}
    if table is not None:
        trained = table[(table["model"] == "trained") & table["direction"].isin(DIRECTIONS)]
        trained = trained.rename(columns={"accuracy": "value"})
        rows = {str(name): accuracies for name, accuracies in trained.groupby("relation", sort=False)}
    scores = []
    for name in dict.fromkeys([*rows, *chosen]):
        accuracies = rows.get(name)
        best = chosen[name].held_out if name in chosen else None
        scores.append(
            FunctionScores(
                function=relation(name),
                n_cases=chosen[name].n if accuracies is None else int(accuracies["n_arcs"].max()),
                baseline=offsets.get(name, float("nan")),
                best={} if best is None else {best.kind: _best_head(best)},
                heads=accuracies,
                overall=name in OVERALL,
            )
        )
    return scores


def _best_head(best: Best) -> BestHead:
    return BestHead(layer=best.layer, head=best.head, value=best.accuracy, tested=best.tested, passes=best.beats)
