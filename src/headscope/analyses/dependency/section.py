"""Dependency relations in the page: table 1, relations by layers, accuracy by distance, rest on special tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headscope.analyses.dependency.figures.distance_curves import distance_panel
from headscope.analyses.dependency.findings import DETAIL, REST, TOPIC
from headscope.analyses.dependency.heat import heat_key, heat_name, heat_table
from headscope.analyses.dependency.page_tables import (
    distance_table,
    main_table,
    noop_table,
    paper_table,
    same_data_table,
)
from headscope.analyses.dependency.relations import Relation, relations_of, single
from headscope.reporting.kit.cells import number, records
from headscope.reporting.kit.drawing import inline
from headscope.reporting.kit.inputs import ReportInputs
from headscope.reporting.kit.kinds import Kind
from headscope.reporting.kit.links import file_links, linked
from headscope.reporting.kit.relation_names import OVERALL, short
from headscope.reporting.kit.sentences import Sentence
from headscope.reporting.kit.tables import scrolled
from headscope.reporting.kit.words import Words, capital, count, join, percent, plain
from headscope.views.markup import Html, el

CURVES = 8
"""How many relations' curves stand open in the page; the table below has them all."""


def syntax_section(inputs: ReportInputs, kinds: Sequence[Kind], words: Words, found: Sequence[Sentence],
                   *, links: bool) -> Html | None:  # fmt: skip
    """Build the section, or None where the run has no treebank."""
    if inputs.dependency_best is None:
        return None
    several = len(kinds) > 1
    relations = relations_of(inputs)
    parts: list[Html | None] = list(linked([one for one in found if one.topic == TOPIC]))
    if any(one.held_out for one in relations):
        parts.append(scrolled(main_table(relations, several=several), "Best head of each relation"))
        parts.append(el("p", _legend(relations), class_="caption"))
    read = treebank_line(inputs.manifest)
    parts.append(el("p", read, class_="caption") if read else None)
    parts += linked([one for one in found if one.topic == DETAIL])
    parts.append(same_data_table(relations, several=several))
    if inputs.is_bert_base and inputs.paper is not None:
        parts.append(paper_table(relations, inputs.paper.get("table1", [])))
    parts += _layers(inputs, relations, kinds, links)
    parts += _distances(inputs, relations, several, links)
    parts += _noop(inputs, relations, words, found, several)
    return el(
        "section",
        el("h2", "Dependency relations"),
        el("p", "Does one head find a word’s syntactic head, better than always pointing a fixed number of words away?",
           class_="why"),
        parts,
        id="section-syntax",
    )  # fmt: skip


def _legend(relations: Sequence[Relation]) -> list[Html | str]:
    drawn: list[Html | str] = ["Percent, 95% intervals below. "]
    drawn += [
        el("b", "●", class_="key-syntax"),
        " head on its interval, ○ where it is not shown to beat every offset; ",
    ]
    drawn += [el("b", "|", class_="key-offset"), " best fixed offset"]
    if any(one.control for one in relations):
        drawn += [
            "; ",
            el("b", "◦", class_="key-control"),
            " best head of the same model with random weights, ",
        ]
        drawn.append("mean and range of its seeds")
    chosen = (
        "Named are the head and the offset that halves of the documents choose most often (“chosen”: how often), each "
        "with its own accuracy on all documents; “above it” is their difference on the same sentences. “Choice, held "
        "out”: what choosing on one half is worth on the other; random weights go through the same. q: one-sided test "
        "that choosing on other documents beats every offset, Benjamini–Hochberg over relations."
    )
    return [*drawn, f". {chosen}"]


def treebank_line(manifest: Mapping[str, Any]) -> str:
    """Say what was read of the treebank; keys that are missing say nothing."""
    told = manifest.get("treebank") or {}
    parts = [
        count(int(told[key]), key.removesuffix("s"))
        for key in ("documents", "sentences", "words")
        if key in told
    ]
    if not parts:
        return ""
    out = f"Read {join(parts)}" + (f" of {plain(told['name'])}" if told.get("name") else "")
    more = []
    if told.get("words_split") and told.get("words"):
        share = percent(int(told["words_split"]) / int(told["words"]), 1)
        more.append(f"{share} of the words split into pieces, their attention {_pieces(told.get('pieces'))}")
    if told.get("words_dropped"):
        more.append(f"{count(int(told['words_dropped']), 'word')} without a piece, never right")
    if told.get("words_merged"):
        more.append(f"{count(int(told['words_merged']), 'word')} merged with a neighbour by the tokeniser")
    skipped = told.get("skipped") or {}
    reasons = dict(skipped if isinstance(skipped, Mapping) else told.get("skipped_why") or {})
    total = sum(int(n) for n in reasons.values()) if isinstance(skipped, Mapping) else int(skipped)
    if total:
        why = [f"{plain(reason)}: {int(n):,}" for reason, n in reasons.items()]
        more.append(f"{count(total, 'sentence')} skipped" + (f" ({'; '.join(why)})" if why else ""))
    if "folded" in told:
        more.append("sub-types folded into their relation" if told["folded"] else "sub-types kept")
    return "; ".join([out, *more]) + "."


def _pieces(how: object) -> str:
    return {"mean": "averaged", "first": "the first piece’s", "max": "the largest"}.get(str(how), "averaged")


def _layers(
    inputs: ReportInputs, relations: Sequence[Relation], kinds: Sequence[Kind], links: bool
) -> list[Html]:
    several = len(kinds) > 1
    out: list[Html] = []
    for place, kind in enumerate(kinds):
        table = heat_table(inputs, relations, kind=kind.name, several=several)
        if table is not None:
            out += [*([el("h4", capital(kind.name))] if several else []), table]
            name = heat_name(kind.name, first=place == 0)
            out += [file_links(name, "This table as a figure")] if links else []
    if not out:
        return []
    title = el("h3", "In which layers")
    caption = el("p", "The best head of each layer, in either direction, on all sentences. ", class_="why")
    return [title, caption, *out, heat_key()]


def curve_relations(relations: Sequence[Relation], inputs: ReportInputs) -> list[str]:
    """Return the relations whose curves are drawn: those of table 1 that have cases at some distance, in its order."""
    known = {str(row["relation"]) for row in records(inputs.dependency_by_distance) if number(row["n"]) > 0}
    return [one.name for one in single(tuple(relations)) if one.name in known]


def _distances(inputs: ReportInputs, relations: Sequence[Relation], several: bool, links: bool) -> list[Html]:
    names = curve_relations(relations, inputs)
    table = inputs.dependency_by_distance
    if table is None or not names:
        return []
    figures = []
    for place, name in enumerate(names[:CURVES]):
        figure = distance_panel(table[table["relation"] == name])
        told = f"Accuracy of the best head for {short(name)} by distance, beside its best fixed offset."
        figures.append(el("figure", inline(figure, name=f"distance-{place}", label=told)))
    rows = [row for name in (*names, *OVERALL) for row in records(table[table["relation"] == name])]
    why = "An offset is right at one distance only; a head that knows the relation is right at many."
    caption = (
        "Accuracy by how many words dependent and head word are apart. Line: the relation’s best head with its 95% "
        "intervals; bar: the best fixed offset."
    )
    out = [
        el("h3", "Near and far"),
        el("p", why, class_="why"),
        el("div", figures, class_="panels curves"),
        el("p", caption, class_="caption"),
        distance_table(rows, several=several),
    ]
    return [*out, *([file_links("accuracy-by-distance", "All relations as a figure")] if links else [])]


def _noop(
    inputs: ReportInputs,
    relations: Sequence[Relation],
    words: Words,
    found: Sequence[Sentence],
    several: bool,
) -> list[Html]:
    order = {one.name: place for place, one in enumerate(relations)}
    rows = sorted(
        records(inputs.dependency_noop), key=lambda row: order.get(str(row["relation"]), len(order))
    )
    if not rows:
        return []
    present = {str(row["key_class"]) for row in rows}
    tokens = [name for key, name in (("sep", words.sep), ("cls", words.cls)) if key in present]
    return [
        el("h3", f"At rest on {join(tokens)}"),
        el("p", "If a head rests there when its relation is not called for, the words that attend in the relation rest "
           "less.", class_="why"),
        *linked([one for one in found if one.topic == REST]),
        el("p", "Attention from the words that attend in a relation, in its best head, beside that from all others: "
           "its dependents where the dependent attends to its head word, the head words where they attend to their "
           "dependents; each word once.", class_="caption"),
        noop_table(rows, words, several=several),
    ]  # fmt: skip
