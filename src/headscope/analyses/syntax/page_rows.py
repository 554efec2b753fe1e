"""Rows of the page's tables, and table 1 for a paper."""

from __future__ import annotations

from math import isnan
from typing import Any

import pandas as pd

from headscope.analyses.syntax.attending import established_rows, token_name
from headscope.analyses.syntax.relations import Best, Relation, curve_relations, relations_of
from headscope.attention.head_id import head_label
from headscope.present.blocks import Row
from headscope.present.cells import cell_of, records
from headscope.present.numbers import (
    DASH,
    count_column,
    interval_columns,
    offset_column,
    offset_words,
    percent,
    percent_column,
    q_column,
    share,
    words_column,
)
from headscope.present.paper_table import PaperColumn, PaperTable, paper_numbers
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.words import DIRECTIONS, OVERALL, gloss, short
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS

_GROUPS = ("", "Not shown to beat every fixed offset", "Not tested: fewer than 10 documents", "All relations together")


def main_rows(about: Context) -> list[Row]:
    """Return table 1 with heads selected held-out: those shown to beat every offset, the others, then all words."""
    rows = [
        {**_page_row(relation, relation.held_out, about), **({"q": None} if relation.overall else {})}
        for relation in relations_of(about.run)
        if relation.held_out
    ]
    return sorted(rows, key=lambda row: _GROUPS.index(row["group"]))


def same_data_rows(about: Context) -> list[Row]:
    """Return the paper's selection: head and offset chosen on the sentences on which they are scored."""
    return [
        _page_row(relation, relation.same_data, about) for relation in relations_of(about.run) if relation.same_data
    ]


def _page_row(relation: Relation, best: Best, about: Context) -> Row:
    strong = best.beats
    group = 3 if relation.overall else 0 if strong else 1 if best.tested else 2
    often = "" if isnan(best.share) else f"in {percent(best.share, 0)} of splits"
    picture = {"accuracy": best.accuracy, "baseline": best.baseline, "control": relation.control, "strong": strong}
    return {
        "relation": (short(relation.name), gloss(relation.name)),
        "label": short(relation.name),
        "head": (about.kind(best.kind).labeled_head(best.layer, best.head), often),
        "picture": picture,
        "accuracy": (best.accuracy, strong),
        "right": best.accuracy,
        "baseline": best.baseline,
        "offset": best.offset,
        "best_offset": (best.baseline, best.offset),
        "above": best.gap,
        "all_documents": best.all_documents,
        "held_out": best.held_out,
        "control": relation.control,
        "shuffled": relation.shuffled,
        "q": "not tested" if isnan(best.q) else best.q,
        "direction": DIRECTIONS.get(best.direction, best.direction),
        "n": relation.n,
        "group": _GROUPS[group],
        "weak": not (strong or relation.overall),
    }


def paper_rows(about: Context) -> list[Row]:
    """Return the paper's table 1 next to this run's same-data results; empty for other models than the paper's."""
    if not about.run.is_bert_base:
        return []
    measured = {relation.name: relation.same_data for relation in relations_of(about.run)}
    return [
        {
            "relation": short(str(line["relation"])),
            "head": head_label(best.layer, best.head),
            "accuracy": best.accuracy,
            "offset": f"{share(best.baseline.value)} ({offset_words(best.offset)})",
            "paper_head": str(line["head"]),
            "paper_accuracy": f"{line['accuracy']:.1f}",
            "paper_offset": f"{line['baseline_accuracy']:.1f} ({offset_words(int(line['baseline_offset']))})",
        }
        for line in paper_numbers().get("table1", [])
        if (best := measured.get(str(line["relation"])))
    ]


def noop_rows(about: Context) -> list[Row]:
    """Return each relation's attention to special tokens from the words that attend in it and from all others."""
    return [
        {
            **{name: row[name] for name in ("attending", "others", "n_words", "n_other_words")},
            "relation": short(str(row["relation"])),
            "head": about.kind(str(row["kind"])).labeled_head(row["layer"], row["head"]),
            "direction": DIRECTIONS.get(str(row["direction"]), DASH),
            "token": token_name(str(row["key_class"]), about.words),
            "difference": cell_of(row, "difference"),
        }
        for row in established_rows(about.run)
    ]


def distance_rows(about: Context) -> list[Row]:
    """Return the accuracies by distance, which are the data of the curves."""
    names = curve_relations(about.run)
    order = {name: rank for rank, name in enumerate((*names, *OVERALL))} if names else {}
    rows = [row for row in records(about.run.tables.get("syntax_by_distance")) if row["relation"] in order]
    return [
        {
            "relation": short(str(row["relation"])),
            "head": about.kind(str(row["kind"])).labeled_head(row["layer"], row["head"]),
            "distance": str(row["distance"]),
            "n": cell_of(row).n,
            "accuracy": cell_of(row),
            "baseline": row["baseline_accuracy"],
        }
        for row in sorted(rows, key=lambda row: order[row["relation"]])
    ]


HELD_OUT = (
    "Head, direction and offset are those that halves of the documents choose most often, each with its accuracy on "
    "documents that did not choose it. "
)
WHO_ATTENDS = {"dependent->head": "dependent → head", "head->dependent": "head → dependent", "both": "both"}
SAME = "Head, direction and offset are chosen and scored on the same documents. "


def table_1(run: Study) -> PaperTable | None:
    """Return the table; None where the run has no treebank, or none with 100 cases of a relation."""
    relations = relations_of(run)
    is_held_out = any(relation.held_out for relation in relations)
    chosen = [(relation, relation.held_out if is_held_out else relation.same_data) for relation in relations]
    chosen.sort(key=lambda choice: choice[0].overall)  # summaries come last
    rows = [_row(relation, best) for relation, best in chosen if best]
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
