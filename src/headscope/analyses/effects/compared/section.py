"""Measures of what heads are worth in the report: how far they agree, and the heads on which they do not."""

from __future__ import annotations

import pandas as pd

from headscope.analyses.effects.compared.figure import draw_agreement
from headscope.analyses.effects.compared.ranks import Agreement, agreements, measured_heads, ranked_apart
from headscope.analyses.effects.kind_panel import kind_panel
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, sentence
from headscope.report_kit.report_parts import Context, Figure, Section, section
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
    """Say which measure ranks heads most like the effect on the loss does, and which heads are ranked differently."""
    findings = []
    for kind in about.kinds:
        heads = measured_heads(about.run, kind)
        said = [*_nearest(kind, agreements(heads)), *_apart(kind, heads)]
        findings += kind.findings(said)
    return findings


def _nearest(kind: Kind, pairs: list[Agreement]) -> list[Sentence]:
    with_effect = [pair for pair in pairs if "effect on the loss" in (pair.first, pair.second)]
    shown = [pair for pair in with_effect if pair.ci_low > 0]
    if not any(pair.has_interval for pair in with_effect):
        return []
    if not shown:
        none = f"no other measure is shown to rank heads{kind.of_kind} as their effect on the loss does."
        return [sentence(TOPIC, none)]
    best = shown[0]
    other = best.first if best.second == "effect on the loss" else best.second
    return [
        sentence(
            TOPIC,
            f"{other} ranks heads{kind.of_kind} most like the effect on the loss: rank correlation {best.rho:.2f} "
            f"(95% interval over heads {best.ci_low:.2f} to {best.ci_high:.2f}).",
        )
    ]


def _apart(kind: Kind, heads: pd.DataFrame) -> list[Sentence]:
    findings = []
    apart = ranked_apart(heads)
    for (layer, head), (_, ranks) in zip(apart.index, apart.iterrows(), strict=True):
        high, low = str(ranks.idxmin()), str(ranks.idxmax())
        places = f" is number {ranks[high]} of {len(heads):,} by {high} and number {ranks[low]} by {low}."
        findings.append(sentence(TOPIC, kind.head(layer, head), places))
    return findings


def compared_section(about: Context) -> list[Section]:
    """Build the section; none where the run has too few measures."""
    blocks: list[Html | None] = []
    for kind in about.kinds:
        label = f"Rank correlation of each two measures of {kind.name} heads."
        blocks += kind_panel(about, kind, FIGURE, topic=TOPIC, label=label, text=CAPTION)
    return section("measures-compared", "Do measures of a head agree?", WHY, blocks)
