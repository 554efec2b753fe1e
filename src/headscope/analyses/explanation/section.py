"""Explanations in the report: a sentence per head."""

from __future__ import annotations

from headscope.analyses.explanation.figures import draw_bars
from headscope.analyses.explanation.findings import of_weight
from headscope.analyses.explanation.in_terminal import head_cells, median_words
from headscope.analyses.explanation.tables import TRAINED
from headscope.report_kit.links import kind_links
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
     "of features with names predicts, on documents that neither selected nor fitted it: 1 - sum KL(attention || "
     "prediction) / sum KL(attention || uniform). It can be negative. A prediction is no cause"),
)  # fmt: skip


def explanation_section(about: Context) -> list[Section]:
    """Build the section; none where the run explained no heads."""
    if "explanation" not in about.run.tables:
        return []
    blocks: list[Html | None] = []
    for kind in about.kinds:
        rows = of_weight(about.run, kind)
        blocks += [*kind.heading(), el("p", f"{capital(median_words(kind.name, rows))}.")]
        label = f"What explains each {kind.name} head, as a stacked bar; the table below has its numbers."
        blocks += placed(about, FIGURE, label, ending=kind.ending)
        lines = [head_cells(row, missing=DASH) for row in records(rows[rows["model"] == TRAINED])]
        blocks.append(
            Table(
                summary=f"Table: the explained share of each {kind.name} head",
                header=(
                    "head",
                    "explained %",
                    "95% interval",
                    "to explain, nats",
                    "wrong %",
                    "what it attends to",
                ),
                rows=tuple(lines),
                name=f"table-explanation-{kind.name}",
            ).html()
        )
    files = kind_links(about, FIGURE, "The explained share of every head, drawn for this model")
    return section("explanation", "Explained attention", WHY, blocks, captions=(CAPTION,), files=files)
