"""Findings on whether explanations are the cause: the loss with attention replaced, and heads that stand out."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from headscope.analyses.effects.kept.rows import Replaced, explained_shares, replaced_of
from headscope.analyses.effects.kept.tables import ADDED
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, listed, numbered, sentence
from headscope.report_kit.numbers import nats, percent
from headscope.report_kit.report_parts import Context
from headscope.report_kit.words import count

TOPIC = "effect_kept"
HALF = 0.5


def kept_findings(about: Context) -> list[Sentence]:
    """Say what the model loses with all attention replaced, and which explanations predict but do not carry."""
    table = about.run.tables.get("effect_kept")
    if table is None or not len(table):
        return []
    findings = model_sentences(table)
    for kind in about.kinds:
        findings += kind.findings(_stand_out(kind, sure_heads(about, kind)))
    return findings


def model_sentences(table: pd.DataFrame) -> list[Sentence]:
    """Return what the model loses when its attention is replaced as a whole.

    Args:
        table: `tables/effect_kept.parquet`.
    """
    model = next((each for each in replaced_of(table) if each.layer is None), None)
    if model is None:
        return []
    uniform, explained, positions = (nats(model.cells[name].value) for name in ADDED)
    how = f"Positions alone in place of all attention lose {positions} nats"
    if model.kept.has_interval:
        ends = f"{100 * model.kept.ci_low:.0f} to {100 * model.kept.ci_high:.0f}"
        how = (
            f"Explanations keep {percent(model.kept.value)} of the effect of attention (95% interval {ends}); "
            f"positions alone lose {positions} nats"
        )
    return [
        sentence(
            TOPIC,
            f"with every head’s attention replaced by its explanation the model loses {explained} nats; with uniform "
            f"attention {uniform}.",
        ),
        sentence(TOPIC, f"{how}.", goes_on=True),
    ]


def sure_heads(about: Context, kind: Kind) -> list[tuple[Replaced, float]]:
    """Return the heads of a kind whose effect is sure, each with the share of its attention that is explained."""
    shares = explained_shares(about.run, kind)
    heads = [
        (each, shares.get((each.layer, each.head), float("nan")))
        for each in replaced_of(about.run.tables["effect_kept"])
        if each.kind == kind.name and each.layer is not None and each.head is not None and each.kept.has_interval
    ]
    return [(each, share) for each, share in heads if share == share]


def _stand_out(kind: Kind, heads: Sequence[tuple[Replaced, float]]) -> list[Sentence]:
    """Name the heads whose explanation predicts and does not carry, and the reverse."""
    idle = [each for each, share in heads if share > HALF and each.kept.ci_high < HALF]
    carrying = [each for each, share in heads if share < HALF and each.kept.ci_low > HALF]
    return [*_named(idle, "over half", "less than half", kind), *_named(carrying, "less than half", "over half", kind)]


def _named(heads: Sequence[Replaced], predicted: str, kept: str, kind: Kind) -> list[Sentence]:
    if not heads:
        return []
    of = f"{count(len(heads), 'head')}{kind.of_kind}"
    largest_first = sorted(heads, key=lambda each: -each.effect)
    return [
        sentence(
            TOPIC,
            f"{predicted} of the attention of {of} is explained, but {kept} of the effect kept (95% intervals): ",
            *listed(numbered(kind.name, each.layer or 0, each.head or 0) for each in largest_first),
            ".",
        )
    ]
