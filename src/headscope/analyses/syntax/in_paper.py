"""Table 1 for a paper: the best head of each relation and the best fixed offset."""

from __future__ import annotations

from typing import Any

import pandas as pd

from headscope.analyses.syntax.relations import Best, Relation, relations_of
from headscope.attention.head_id import head_label
from headscope.report_kit.numbers import (
    count_column,
    interval_columns,
    offset_column,
    percent_column,
    q_column,
    words_column,
)
from headscope.report_kit.words import OVERALL, short
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.study.paper_table import PaperColumn, PaperTable
from headscope.study.study import Study

HELD_OUT = (
    "Head, direction and offset are those that halves of the documents choose most often, each with its accuracy on "
    "documents that did not choose it. "
)
WHO_ATTENDS = {"dependent->head": "dependent → head", "head->dependent": "head → dependent", "both": "both"}
SAME = "Head, direction and offset are chosen and scored on the same documents. "


def table_1(run: Study) -> PaperTable | None:
    """Return the table; None where the run has no treebank, or none with 100 cases of a relation."""
    relations = relations_of(run)
    is_held_out = any(relation.held_out is not None for relation in relations)
    chosen = [(relation, relation.held_out if is_held_out else relation.same_data) for relation in relations]
    chosen.sort(key=lambda choice: choice[0].name in OVERALL)  # summaries come last
    rows = [_row(relation, best) for relation, best in chosen if best is not None]
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    several = frame["kind"].nunique() > 1
    columns = (
        PaperColumn("relation", _relation_words, "l"),
        *((words_column("attention", "kind"),) if several else ()),
        words_column("head", "head"),
        words_column("who attends", "who_attends"),
        percent_column("accuracy", "accuracy"),
        offset_column("offset", "offset"),
        percent_column("its accuracy", "offset_accuracy"),
        percent_column("above", "above", signed=True),
        q_column("q", "q", never=lambda row: row["relation"] in OVERALL),
        count_column("n", "n_arcs"),
    )
    method = HELD_OUT if is_held_out else SAME
    caption = (
        "The best attention head of each dependency relation beside the best fixed offset, in percent, with 95% "
        f"intervals over documents. {method}q: one-sided test against every offset, false discovery "
        f"rate; not tested with fewer than {FEWEST_DOCUMENTS} documents."
    )
    return PaperTable("table-1", caption, frame, columns)


def _relation_words(row: dict[str, Any]) -> str:
    """Return a relation's label; the two rows over all relations have words."""
    relation = str(row["relation"])
    return short(relation) if relation in OVERALL else relation


def _row(relation: Relation, best: Best) -> dict[str, object]:
    return {
        "relation": relation.name,
        "kind": best.kind,
        "head": head_label(best.layer, best.head),
        "direction": best.direction,
        "who_attends": WHO_ATTENDS.get(best.direction, best.direction),
        **interval_columns("accuracy", best.accuracy),
        "offset": pd.NA if best.offset is None else best.offset,
        **interval_columns("offset_accuracy", best.baseline),
        **interval_columns("above", best.gap),
        **interval_columns("all_documents", best.all_documents),
        **interval_columns("held_out", best.held_out),
        "random_weights": float("nan") if relation.control is None else relation.control.mean,
        "q": best.q,
        "n_arcs": relation.n,
    }
