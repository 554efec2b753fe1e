"""Effects in the report: the added loss of each head, and a table of all heads."""

from __future__ import annotations

from typing import Any

import pandas as pd

from headscope.analyses.effects import logit_findings
from headscope.analyses.effects.direct_table import direct_table
from headscope.analyses.effects.figures import draw_effects
from headscope.analyses.effects.findings import ASIDE, TOPIC
from headscope.analyses.effects.loss_line import loss_line
from headscope.analyses.effects.nats import nats_with_ends
from headscope.analyses.effects.tables import NAMES
from headscope.attention.head_id import head_label
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.kinds import Kind
from headscope.report_kit.links import kind_link, linked
from headscope.report_kit.numbers import q_words
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Figure, Section, section
from headscope.report_kit.tables.cells import cell_of, number, rows_by_head
from headscope.report_kit.tables.page_rows import Table
from headscope.statistics.inference.worth_saying import LEAST_LOSS
from headscope.views.markup import Html, el

WHY = (
    "Neither where a head looks nor how much it writes says whether the model needs it. Here each head is changed "
    "while the model predicts, and the loss is compared on the same targets."
)
CAPTION = (
    "A point is a head, in its role’s color and shape, at the loss that is added when it alone is changed, with its "
    "95% interval. The axis is linear next to 0 and logarithmic beyond; below the dashed line a head costs less than "
    f"{LEAST_LOSS:g} nats. Click a point to open its card."
)
TERMS = (
    ("Effect", "the loss that is added when one head is changed and all else is as it was, in nats, the mean over the "
     "targets of an input, then over inputs; and KL(p || p changed) at the same targets. Later layers run again, so "
     "that it is what is lost after they have made up for the head"),
    ("Mean ablation", "a head writes, in every row, its mean over the rows of the same class ([CLS] or first token, "
     "separator, other) in the half of the documents that does not measure"),
    ("Undecided", f"a head that is neither shown to change the loss, by {LEAST_LOSS:g} nats or more, nor to change "
     "it by less; both are tested at a false discovery rate of 5% over heads"),
)  # fmt: skip
FIGURE = Figure(name="figure-effects", tables=("effects",), draw=draw_effects)


def effect_section(about: Context) -> list[Section]:
    """Build the section; none where the run changed no heads."""
    table = about.run.tables.get("effects")
    if table is None or not len(table):
        return []
    blocks: list[Html | None] = []
    for kind in about.kinds:
        label = f"The loss that each {kind.name} head adds when it is changed; the table below has the numbers."
        blocks += [
            *kind.heading(),
            *linked(about.findings_on(TOPIC, ASIDE, kind=kind)),
            captioned(
                el("div", placed(about, FIGURE, label, ending=kind.ending), class_="panels"),
                caption(CAPTION),
                caption(loss_line(about.run.manifest)),
                kind_link(about, FIGURE, kind, "This figure"),
            ),
            head_table(table, kind).html(),
        ]
        if (on_logits := direct_table(table, kind)) is not None:
            blocks += [*linked(about.findings_on(logit_findings.TOPIC, kind=kind)), on_logits.html()]
    facts = about.run.manifest.get("effects", {})
    if why := facts.get("no_direct"):
        blocks.append(caption(f"Effects on single logits are not known here: {why}."))
    if why := facts.get("no_gradient"):
        blocks.append(caption(f"First-order estimates are not known here: {why}."))
    return section("effects", "What a head is worth to the loss", WHY, blocks)


def head_table(table: pd.DataFrame, kind: Kind) -> Table:
    """Tabulate every head's added loss with interval and q-value, divergence of predictions, and a user's score."""
    scores = [name for name in dict.fromkeys(table["measure"]) if name not in NAMES]
    rows, sizes = [], []
    for head, cells in rows_by_head(table[table["kind"] == kind.name], "measure"):
        if ("loss",) not in cells:
            continue  # it was not changed
        sizes.append(abs(number(cells["loss",]["value"])))
        rows.append(
            (
                head_label(*head),
                *_tested(cells["loss",]),
                *nats_with_ends(cell_of(cells["kl",], "value")),
                *(each for name in scores for each in _tested(cells[name,])),
            )
        )
    return Table(
        summary=f"Table: what each head is worth to the loss, in nats{kind.in_brackets}",
        groups=(("", 1), ("added loss", 3), ("KL(p || p changed)", 2), *((f"change of {name}", 3) for name in scores)),
        header=(
            *("head", "nats", "95% interval", "q", "nats", "95% interval"),
            *("value", "95% interval", "q") * len(scores),
        ),
        rows=tuple(rows),
        name=f"table-effects-{kind.name}",
        matters=tuple(sizes),
        first="the largest change of the loss first",
    )


def _tested(row: dict[str, Any]) -> tuple[str, str, str]:
    """Return the value of a row, its interval and the q-value of its test."""
    return *nats_with_ends(cell_of(row, "value")), q_words(number(row["q_value"]))
