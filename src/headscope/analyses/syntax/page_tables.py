"""Table 1 and the tables folded below it: the best head of each relation, and what it is compared with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

from headscope.analyses.syntax.relations import Best, Relation
from headscope.attention.head_id import head_label
from headscope.report_kit.numbers import DASH, ends, joined, offset_words, percent, points, q_words, share
from headscope.report_kit.pictures.strip import strip
from headscope.report_kit.relation_names import DIRECTIONS, gloss, short
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import Runs, cell_of, number
from headscope.report_kit.tables.page_parts import (
    folded,
    group_body,
    header_line,
    numbered,
    page_table,
    share_cell,
)
from headscope.report_kit.tables.page_rows import Table
from headscope.report_kit.words import Words
from headscope.views.markup import Html, el


def main_table(relations: Sequence[Relation], about: Context) -> Html:
    """Return table 1 with the heads chosen held-out: those shown to beat every offset, the others, then all words.

    What is not shown to, and what was not tested, stand under headings that say so, their dots hollow.
    """
    chosen = [relation for relation in relations if relation.held_out is not None]
    shuffled = any(relation.shuffled is not None for relation in chosen)
    titles = ["relation", "head", "", "accuracy", "best offset", "above it", "all documents", "held-out accuracy",
              "random weights"]  # fmt: skip
    titles += ["shuffled words"] if shuffled else []
    titles += ["q", "who attends", "n"]
    header = header_line(titles, words=("relation", "who attends"))
    selected = [
        (relation, relation.held_out) for relation in chosen if relation.held_out and not relation.overall
    ]
    groups = (
        ("", [relation for relation, best in selected if best.beats]),
        (
            "Not shown to beat every fixed offset",
            [relation for relation, best in selected if best.tested and not best.beats],
        ),
        ("Not tested: fewer than 10 documents", [relation for relation, best in selected if not best.tested]),
        ("All relations together", [relation for relation in chosen if relation.overall]),
    )
    bodies = []
    for title, members in groups:
        if not members:
            continue
        rows = [
            _row(relation, relation.held_out, about, shuffled) for relation in members if relation.held_out
        ]
        bodies.append(group_body(title, rows, columns=len(titles)))
    return page_table([header], bodies, name="table-1", class_="relations")


def _row(relation: Relation, best: Best, about: Context, shuffled: bool) -> Html:
    below = gloss(relation.name)
    strong = best.beats
    margin = points(best.margin, signed=True)
    reach = ends(best.gap, between=" to ")
    often = "" if isnan(best.share) else f"selected in {percent(best.share, 0)} of splits"
    return el(
        "tr",
        el("th", short(relation.name), el("small", below) if below else None, scope="row"),
        el("td", about.kind(best.kind).head_link(best.layer, best.head),
           el("small", often, class_="often") if often else None),
        el("td", strip(best.accuracy, baseline=best.baseline, control=relation.control, strong=strong),
           class_="picture"),
        share_cell(best.accuracy, bold=strong),
        numbered(share(best.baseline.value), offset_words(best.offset)),
        numbered(margin, reach),
        share_cell(best.all_documents),
        share_cell(best.held_out),
        _runs(relation.control),
        _runs(relation.shuffled) if shuffled else None,
        el("td", DASH if relation.overall else q_words(best.q)),
        el("td", DIRECTIONS.get(best.direction, best.direction), class_="words way"),
        el("td", f"{relation.n:,}"),
        class_=None if strong or relation.overall else "weak",
    )  # fmt: skip


def _runs(runs: Runs | None) -> Html:
    if runs is None:
        return el("td", DASH)
    span = joined(runs.lowest, runs.highest) if runs.seeds > 1 else ""
    return numbered(share(runs.mean), span)


def same_data_table(relations: Sequence[Relation], about: Context) -> Html | None:
    """Return the paper's way, folded: head and offset chosen on the sentences that they are scored on."""
    rows = []
    for relation in relations:
        best = relation.same_data
        if best is None:
            continue
        rows.append(
            el(
                "tr",
                el("th", short(relation.name), scope="row"),
                el("td", f"{relation.n:,}"),
                el("td", about.kind(best.kind).head_link(best.layer, best.head)),
                el("td", DIRECTIONS.get(best.direction, best.direction), class_="words"),
                numbered(share(best.accuracy.value)),
                el("td", ends(best.accuracy, missing=DASH)),
                el("td", share(best.baseline.value)),
                el("td", offset_words(best.offset)),
                el("td", q_words(best.q)),
            )
        )
    if not rows:
        return None
    titles = (
        "relation",
        "n",
        "head",
        "who attends",
        "accuracy, %",
        "95% interval",
        "best offset, %",
        "offset",
        "q",
    )
    header = header_line(titles, words=("who attends",))
    table = page_table([header], [el("tbody", rows)], name="table-1-same-data")
    return folded(table, "Table: the paper’s way, chosen and scored on the same sentences")


def paper_table(relations: Sequence[Relation], printed: Sequence[Mapping[str, Any]]) -> Html | None:
    """Return the paper's table 1 beside what was measured its way; None where no label is the same."""
    measured = {relation.name: relation for relation in relations if relation.same_data is not None}
    rows = []
    for line in printed:
        best = measured[str(line["relation"])].same_data if str(line["relation"]) in measured else None
        if best is None:
            continue
        rows.append(
            (
                short(str(line["relation"])),
                head_label(best.layer, best.head), share(best.accuracy.value), ends(best.accuracy, missing=DASH),
                f"{share(best.baseline.value)} ({offset_words(best.offset)})",
                str(line["head"]), f"{line['accuracy']:.1f}",
                f"{line['baseline_accuracy']:.1f} ({offset_words(int(line['baseline_offset']))})",
            )
        )  # fmt: skip
    if not rows:
        return None
    table = Table(
        summary="Table 1 of the paper beside this run, both chosen and scored on the same sentences",
        groups=(("", 1), ("measured here", 4), ("paper, Wall Street Journal", 3)),
        header=("relation", "head", "%", "95% interval", "offset", "head", "%", "offset"),
        rows=tuple(rows),
        name="table-1-paper",
        opened=True,
    )
    return table.html()


def noop_table(rows: Sequence[Mapping[str, Any]], about: Context) -> Html:
    """Return what the words that attend in each relation and all others give special tokens, in its best head."""
    body = []
    for row in rows:
        difference = cell_of(dict(row), "difference")
        name = about.kind(str(row["kind"])).head_label(row["layer"], row["head"])
        body.append(
            (
                short(str(row["relation"])), name, DIRECTIONS.get(str(row["direction"]), DASH),
                key_words(str(row["key_class"]), about.words), share(number(row["attending"])),
                f"{int(row['n_words']):,}", share(number(row["others"])), f"{int(row['n_other_words']):,}",
                share(difference.value), ends(difference, between=" to ", missing=DASH),
            )
        )  # fmt: skip
    return Table(
        summary="Table: attention to special tokens, from the words that attend in a relation and from all others",
        header=("relation", "head", "who attends", "to", "who attends, %", "n", "others, %", "n others",
                "difference", "95% interval"),
        rows=tuple(body),
        name="table-syntax-noop",
        words=(2, 3),
    ).html()  # fmt: skip


def key_words(key_class: str, words: Words) -> str:
    """Return the name of a special token's class in this model."""
    return {"cls": words.cls, "sep": words.sep}.get(key_class, key_class)


def distance_table(rows: Sequence[Mapping[str, Any]], about: Context) -> Html:
    """Return the accuracies by distance behind the curves."""
    body = []
    for row in rows:
        accuracy = cell_of(dict(row))
        name = about.kind(str(row["kind"])).head_label(row["layer"], row["head"])
        line = (short(str(row["relation"])), name, str(row["distance"]), f"{accuracy.n:,}")
        fixed = share(number(row["baseline_accuracy"]))
        body.append((*line, share(accuracy.value), ends(accuracy, missing=DASH), fixed))
    return Table(
        summary="Table: accuracy by distance",
        header=("relation", "head", "words apart", "n", "accuracy, %", "95% interval", "best offset, %"),
        rows=tuple(body),
        name="table-syntax-distance",
    ).html()
