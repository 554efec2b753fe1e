"""Explanations in the report: a sentence per head."""

from __future__ import annotations

from headscope.analyses.explanation.figures import draw_bars
from headscope.analyses.explanation.findings import TOPIC, of_weight
from headscope.analyses.explanation.in_terminal import head_cells, median_words
from headscope.analyses.explanation.tables import CORPORA, TEXT, TRAINED, TREEBANK
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.kinds import Kind
from headscope.report_kit.links import kind_link, linked
from headscope.report_kit.numbers import DASH
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Figure, Section, section
from headscope.report_kit.tables.cells import records
from headscope.report_kit.tables.page_rows import Table
from headscope.report_kit.words import capital
from headscope.views.markup import Html, el

WHY = (
    "Attention is predicted from features with names, fitted on half of the documents and measured on the other half. "
    "What is not explained is where to look for more."
)
CAPTION = (
    "A bar is a head: what each sort of features adds to its explained share, on text that fitted nothing; the blank "
    "part is not explained. The point below it, in its role’s color and shape, opens its card."
)
FIGURE = Figure(name="figure-explanation", tables=("explanation", "explanation_groups"), draw=draw_bars)
TERMS = (
    ("Explained", "the share of the divergence of a head’s attention from uniform attention that a multinomial logit "
     "of features with names predicts, on documents that did not fit it: 1 - sum KL(attention || prediction) / sum "
     "KL(attention || uniform). It can be negative. A prediction is no cause"),
    ("Wrong sentence", "the prediction for another head of the layer: the median of what these explain of a head. A "
     "prediction that would fit any head explains as much as the head’s own"),
)  # fmt: skip


def explanation_section(about: Context) -> list[Section]:
    """Build the section; none where the run explained no heads."""
    if "explanation" not in about.run.tables:
        return []
    blocks: list[Html | None] = []
    for kind in about.kinds:
        blocks += [*kind.heading(), *linked(about.findings_on(TOPIC, kind=kind))]
        label = f"What explains each {kind.name} head, as a stacked bar; the table below has its numbers."
        pictures = placed(about, FIGURE, label, ending=kind.ending)
        blocks.append(captioned(pictures, caption(CAPTION), kind_link(about, FIGURE, kind, "This figure")))
        blocks.append(_table(about, kind, TEXT))
        for corpus in CORPORA[1:]:
            if len(of_weight(about.run, kind, corpus)):
                blocks += [_median(about, kind, corpus), _table(about, kind, corpus)]
    return section("explanation", "Explained attention", WHY, blocks)


def _median(about: Context, kind: Kind, corpus: str) -> Html:
    rows = of_weight(about.run, kind, corpus)
    return el("p", f"{capital(median_words(kind.name, rows, corpus=corpus))}.")


def _table(about: Context, kind: Kind, corpus: str) -> Html:
    rows = of_weight(about.run, kind, corpus)
    where = "" if corpus == TEXT else f" in the {corpus}" if corpus == TREEBANK else f" in the {corpus} corpus"
    return Table(
        summary=f"Table: the explained share of each {kind.name} head{where}",
        header=("head", "explained %", "95% interval", "to explain, nats", "wrong sentence %", "what it attends to"),
        rows=tuple(head_cells(row, missing=DASH) for row in records(rows[rows["model"] == TRAINED])),
        name=f"table-explanation-{kind.name}" + ("" if corpus == TEXT else f"-{corpus}"),
        words=(5,),
    ).html()
