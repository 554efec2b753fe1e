"""Dependency relations in the page: table 1, relations by layers, accuracy by distance, attention to special tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from headscope.analyses.syntax.figures.distance_curves import distance_panel
from headscope.analyses.syntax.figures.files import BY_DISTANCE, BY_LAYER
from headscope.analyses.syntax.findings import DETAIL, TOPIC
from headscope.analyses.syntax.heat_table import heat_key, heat_table
from headscope.analyses.syntax.noop_findings import NOOP, noop_rows
from headscope.analyses.syntax.page_tables import distance_table, main_table, noop_table, paper_table, same_data_table
from headscope.analyses.syntax.relations import Relation, curve_relations, relations_of
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.links import file_link, linked
from headscope.report_kit.numbers import percent
from headscope.report_kit.pictures.drawing import inline
from headscope.report_kit.relation_names import OVERALL, short
from headscope.report_kit.report_parts import Context, Section, section
from headscope.report_kit.tables.cells import records
from headscope.report_kit.tables.page_parts import scrolled
from headscope.report_kit.words import count, join, plain
from headscope.study.paper import paper_numbers
from headscope.views.markup import Html, el

WHY = "Does one head find a word’s syntactic head, better than always pointing a fixed number of words away?"
CURVES = 8
"""Number of relations whose curves are unfolded in the page; the table below them has all relations."""


_POOLED = {"mean": "averaged", "first": "the first piece’s", "max": "the largest"}


def syntax_section(about: Context) -> list[Section]:
    """Build the section; empty where the run has no treebank."""
    blocks = _blocks(about) if about.run.tables.get("syntax_best") is not None else ()
    return section("syntax", "Dependency relations", WHY, blocks)


def _blocks(about: Context) -> Iterator[Html | None]:
    run = about.run
    relations = relations_of(run)
    held_out = any(finding.held_out for finding in relations)
    legend = caption(_legend(relations)) if held_out else None
    findings = linked(about.findings_on(TOPIC, DETAIL))
    yield captioned(findings, legend, caption(treebank_line(run.manifest)))
    if held_out:
        yield scrolled(main_table(relations, about), "Best head of each relation")
    yield same_data_table(relations, about)
    if run.is_bert_base:
        yield paper_table(relations, paper_numbers().get("table1", []))
    yield from (*_layers(about, relations), *_distances(about, relations), *_noop(about, relations))


def _legend(relations: Sequence[Relation]) -> list[Html | str]:
    chosen = (
        "Head and offset are cross-fitted: those that halves of the documents select most often; “above it” is their "
        "difference on the same sentences."
    )
    control = ("; ", el("b", "◦", class_="key-control"), " best head with random weights")
    return [
        *("Percent, 95% intervals below. ", el("b", "●", class_="key-syntax")),
        " head on its interval, ○ where it is not shown to beat every offset, or was not tested; ",
        *(el("b", "|", class_="key-offset"), " best fixed offset"),
        *(control if any(relation.control for relation in relations) else ()),
        f". {chosen}",
    ]


def treebank_line(manifest: Mapping[str, Any]) -> str:
    """Return a line on the size of the treebank and on its words and skipped sentences; missing keys are omitted."""
    treebank = manifest.get("treebank") or {}
    counts = [
        count(int(treebank[key]), key.removesuffix("s"))
        for key in ("documents", "sentences", "words")
        if key in treebank
    ]
    if not counts:
        return ""
    out = f"Read {join(counts)}" + (f" of {plain(treebank['name'])}" if treebank.get("name") else "")
    more = []
    if treebank.get("words_split") and treebank.get("words"):
        share = percent(int(treebank["words_split"]) / int(treebank["words"]), 1)
        attention = _POOLED[treebank.get("pooling", "mean")]
        more.append(f"{share} of the words split into pieces, their attention {attention}")
    if treebank.get("words_dropped"):
        more.append(f"{count(int(treebank['words_dropped']), 'word')} without a piece, never right")
    if treebank.get("words_merged"):
        more.append(f"{count(int(treebank['words_merged']), 'word')} merged with a neighbor by the tokenizer")
    if treebank.get("words_shared"):
        more.append(f"{count(int(treebank['words_shared']), 'word')} written in one token with the word before")
    if skipped := treebank.get("skipped"):
        why = "; ".join(f"{plain(reason)}: {int(n):,}" for reason, n in skipped.items())
        more.append(f"{count(sum(skipped.values()), 'sentence')} skipped ({why})")
    if "folded" in treebank:
        more.append("sub-types folded into their relation" if treebank["folded"] else "sub-types kept")
    return "; ".join([out, *more]) + "."


def _layers(about: Context, relations: Sequence[Relation]) -> Iterator[Html | None]:
    tables = [(kind, heat_table(about.run, relations, kind)) for kind in about.kinds]
    if not any(table for _, table in tables):
        return
    yield el("h3", "In which layers")
    what = caption("The best head of each layer, in either direction, on all sentences.")
    for kind, table in tables:
        if table is not None:
            yield from kind.heading("h4")
            file = file_link(about, BY_LAYER.name + kind.ending, "This table as a figure")
            yield captioned(table, what, heat_key(), file)


def _distances(about: Context, relations: Sequence[Relation]) -> Iterator[Html | None]:
    names = curve_relations(relations, about.run)
    table = about.run.tables.get("syntax_by_distance")
    if table is None or not names:
        return
    yield el("h3", "Near and far")
    why = "An offset is right at one distance only; a head that knows the relation is right at many."
    yield el("p", why, class_="why")
    figures = []
    for index, name in enumerate(names[:CURVES]):
        figure = distance_panel(table[table["relation"] == name])
        label = f"Accuracy of the best head for {short(name)} by distance, beside its best fixed offset."
        figures.append(inline(figure, name=f"distance-{index}", label=label))
    key = (
        "A panel is a relation: upwards the accuracy, to the right how many words dependent and head word are apart. "
        "Line: the relation’s best head with its 95% intervals; bar: the best fixed offset."
    )
    file = file_link(about, BY_DISTANCE.name, "All relations as a figure")
    yield captioned(el("div", figures, class_="panels curves"), caption(key), file)
    rows = [row for name in (*names, *OVERALL) for row in records(table[table["relation"] == name])]
    yield distance_table(rows, about)


def _noop(about: Context, relations: Sequence[Relation]) -> Iterator[Html]:
    words = about.words
    order = {relation.name: rank for rank, relation in enumerate(relations)}
    rows = sorted(noop_rows(about.run), key=lambda row: order[str(row["relation"])])
    if not rows:
        return
    present = {str(row["key_class"]) for row in rows}
    tokens = [name for key, name in (("sep", words.sep), ("cls", words.cls)) if key in present]
    why = (
        "If attention to these tokens is a no-op, the words that attend in a head’s relation give them less of it than "
        "other words do."
    )
    key = (
        "Relations whose best head beats every fixed offset. Attention from the words that attend in the relation, in "
        "that head, beside that from all others: its dependents where the dependent attends to its head word, the head "
        "words where they attend to their dependents; each word once, the first and the last word of a sentence left "
        "out: beside them nothing else may stand that the head looks for."
    )
    yield el("h3", f"Attention to {join(tokens)}")
    yield el("p", why, class_="why")
    findings = linked(about.findings_on(NOOP))
    yield captioned([*findings, noop_table(rows, about)], caption(key))
