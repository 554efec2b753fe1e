"""Measures of a head's importance in the report: their agreement, and the heads on which they disagree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from math import nan

from headscope.analyses.effects.compared.figure import draw_agreement
from headscope.analyses.effects.compared.ranks import Agreement, RankedApart, agreements, measured_heads, ranked_apart
from headscope.analyses.effects.findings import added_losses
from headscope.analyses.effects.kind_panel import kind_panel
from headscope.report_kit.claim_rules import above, leading
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, sentence
from headscope.report_kit.report_parts import Context, Figure, Section, section
from headscope.report_kit.tables.cells import Cell
from headscope.statistics.inference.worth_saying import LEAST_CORRELATION
from headscope.views.markup import Html

TOPIC = "measures_compared"
WHY = (
    "Weight, norm, gradient, explanation and effect answer different questions of a head. Where two rank heads alike, "
    "the cheaper stands for the other."
)
CAPTION = (
    "A point is the rank correlation (Spearman) of two measures over the heads, with its 95% interval over heads "
    "(Bonett and Wright 2000). Of the effect on the loss and of the gate estimate the size counts. Which documents "
    "were read is not in the interval."
)
FIGURE = Figure(name="figure-measures-compared", tables=("effects",), draw=draw_agreement)


def compared_findings(about: Context) -> list[Sentence]:
    """Return findings on the measure that ranks heads most like their effect on the loss, and on heads that measures
    rank differently."""
    findings = []
    for kind in about.kinds:
        heads = measured_heads(about.run, kind)
        if len(heads) and sum(each.is_shown for each in added_losses(about.run.tables["effects"], kind.name)) > 1:
            findings += kind.findings(_nearest(kind, agreements(heads)))
        findings += kind.findings(_apart(kind, ranked_apart(about.run, kind), len(heads)))
    return findings


def _nearest(kind: Kind, pairs: list[Agreement]) -> list[Sentence]:
    """Return the finding on the measure that ranks heads like their effects, for a kind with two heads with an
    effect."""
    with_effect = [pair for pair in pairs if "effect on the loss" in (pair.first, pair.second)]
    if not any(pair.has_interval for pair in with_effect):
        return []
    cells = [Cell(pair.rho, pair.ci_low, pair.ci_high, nan, 0) for pair in with_effect]
    shown = list(compress(with_effect, above(cells, least=LEAST_CORRELATION)))
    if not shown:
        none = f"no other measure is shown to rank heads{kind.of_kind} as their effect on the loss does."
        return [sentence(TOPIC, none)]
    best, like = shown[0], "most like" if leading(cells, least=0.0) else "like"
    other = best.first if best.second == "effect on the loss" else best.second
    return [
        sentence(
            TOPIC,
            f"{other} ranks heads{kind.of_kind} {like} the effect on the loss: rank correlation {best.rho:.2f} "
            f"(95% interval over heads {best.ci_low:.2f} to {best.ci_high:.2f}).",
        )
    ]


def _apart(kind: Kind, heads: Sequence[RankedApart], number: int) -> list[Sentence]:
    """Name the heads that measures rank differently, each with its possible ranks among all heads."""
    return [
        sentence(
            TOPIC,
            kind.head(each.layer, each.head),
            f" is {_rank(*each.best, f'first {each.best[1]}')} of {number:,} by {each.high} and "
            f"{_rank(*each.worst, f'last {number - each.worst[0] + 1}')} by {each.low}.",
        )
        for each in heads
    ]


def _rank(first: int, last: int, among: str) -> str:
    return f"number {first}" if first == last else f"among the {among}"


def compared_section(about: Context) -> list[Section]:
    """Build the section; none where the run has too few measures."""
    blocks: list[Html | None] = []
    for kind in about.kinds:
        label = f"Rank correlation of each two measures of {kind.name} heads."
        blocks += kind_panel(about, kind, FIGURE, topic=TOPIC, label=label, text=CAPTION)
    return section("measures-compared", "Do measures of a head agree?", WHY, blocks)
