"""Table 1 and the tables folded below it: the best head of each relation, with its baselines and controls."""

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
from headscope.report_kit.tables.page_parts import folded, numbered, page_table, share_cell
from headscope.report_kit.tables.page_rows import Table
from headscope.report_kit.words import Words
from headscope.views.markup import Html, el

_NOT_SHOWN = "Not shown to beat every fixed offset"
_NOT_TESTED = "Not tested: fewer than 10 documents"
_TOGETHER = "All relations together"


def main_table(relations: Sequence[Relation], about: Context) -> Html:
    """Return table 1 with the heads chosen held-out: those shown to beat every offset, the others, then all words.

    Relations without such a head, and relations that were not tested, are listed under headings of their own, with
    hollow marks.
    """
    shuffled = any(relation.held_out and relation.shuffled is not None for relation in relations)
    titles = ["relation", "head", "", "accuracy", "best offset", "above it", "all documents", "held-out accuracy",
              "random weights"]  # fmt: skip
    titles += ["shuffled words"] if shuffled else []
    titles += ["q", "who attends", "n"]
    groups: dict[str, list[Html]] = {title: [] for title in ("", _NOT_SHOWN, _NOT_TESTED, _TOGETHER)}
    for relation in relations:
        if best := relation.held_out:
            groups[_group(relation, best)].append(_row(relation, best, about, shuffled))
    return page_table(titles, groups, name="table-1", class_="relations", words=("relation", "who attends"))


def _group(relation: Relation, best: Best) -> str:
    if relation.overall:
        return _TOGETHER
    return "" if best.beats else _NOT_SHOWN if best.tested else _NOT_TESTED


def _row(relation: Relation, best: Best, about: Context, shuffled: bool) -> Html:
    below = gloss(relation.name)
    strong = best.beats
    often = "" if isnan(best.share) else f"in {percent(best.share, 0)} of splits"
    return el(
        "tr",
        el("th", short(relation.name), el("small", below) if below else None, scope="row"),
        el("td", about.kind(best.kind).head_link(best.layer, best.head),
           el("small", often, class_="often") if often else None),
        el("td", strip(best.accuracy, baseline=best.baseline, control=relation.control, strong=strong),
           class_="picture"),
        share_cell(best.accuracy, bold=strong),
        numbered(share(best.baseline.value), offset_words(best.offset)),
        numbered(points(best.margin, signed=True), ends(best.gap, between=" to ")),
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
    """Return the paper's selection, folded: head and offset chosen on the sentences on which they are scored."""
    rows = [
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
        for relation in relations
        if (best := relation.same_data)
    ]
    if not rows:
        return None
    titles = ["relation", "n", "head", "who attends", "accuracy, %", "95% interval", "best offset, %"]
    table = page_table([*titles, "offset", "q"], {"": rows}, name="table-1-same-data", words=("who attends",))
    return folded(table, "Table: the paper’s way, chosen and scored on the same sentences")


def paper_table(relations: Sequence[Relation], printed: Sequence[Mapping[str, Any]]) -> Html | None:
    """Return the paper's table 1 next to this run's same-data results; None where no label is the same."""
    measured = {relation.name: relation.same_data for relation in relations}
    rows = tuple(
        (
            short(str(line["relation"])),
            head_label(best.layer, best.head), share(best.accuracy.value), ends(best.accuracy, missing=DASH),
            f"{share(best.baseline.value)} ({offset_words(best.offset)})",
            str(line["head"]), f"{line['accuracy']:.1f}",
            f"{line['baseline_accuracy']:.1f} ({offset_words(int(line['baseline_offset']))})",
        )
        for line in printed
        if (best := measured.get(str(line["relation"])))
    )  # fmt: skip
    if not rows:
        return None
    return Table(
        summary="Table 1 of the paper beside this run, both chosen and scored on the same sentences",
        groups=(("", 1), ("measured here", 4), ("paper, Wall Street Journal", 3)),
        header=("relation", "head", "%", "95% interval", "offset", "head", "%", "offset"),
        rows=rows,
        name="table-1-paper",
        opened=True,
    ).html()


def noop_table(rows: Sequence[dict[str, Any]], about: Context) -> Html:
    """Return, per relation, its best head's attention to special tokens, from the words that attend and from others."""
    body = tuple(
        (
            *(short(str(row["relation"])), about.kind(str(row["kind"])).head_label(row["layer"], row["head"])),
            *(DIRECTIONS.get(str(row["direction"]), DASH), key_words(str(row["key_class"]), about.words)),
            *(share(number(row["attending"])), f"{int(row['n_words']):,}"),
            *(share(number(row["others"])), f"{int(row['n_other_words']):,}"),
            *(share(number(row["difference"])), ends(cell_of(row, "difference"), between=" to ", missing=DASH)),
        )
        for row in rows
    )
    return Table(
        summary="Table: attention to special tokens, from the words that attend in a relation and from all others",
        header=("relation", "head", "who attends", "to", "who attends, %", "n", "others, %", "n others",
                "difference", "95% interval"),
        rows=body,
        name="table-syntax-noop",
        words=(2, 3),
    ).html()  # fmt: skip


def key_words(key_class: str, words: Words) -> str:
    """Return the name of a special token's class in this model."""
    return {"cls": words.cls, "sep": words.sep}.get(key_class, key_class)


def distance_table(rows: Sequence[dict[str, Any]], about: Context) -> Html:
    """Return the table of accuracies by distance, which are the data of the curves."""
    body = tuple(
        (
            *(short(str(row["relation"])), about.kind(str(row["kind"])).head_label(row["layer"], row["head"])),
            *(str(row["distance"]), f"{accuracy.n:,}", share(accuracy.value), ends(accuracy, missing=DASH)),
            share(number(row["baseline_accuracy"])),
        )
        for row, accuracy in zip(rows, map(cell_of, rows))
    )
    return Table(
        summary="Table: accuracy by distance",
        header=("relation", "head", "words apart", "n", "accuracy, %", "95% interval", "best offset, %"),
        rows=body,
        name="table-syntax-distance",
    ).html()
