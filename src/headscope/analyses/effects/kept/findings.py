"""Findings on whether explanations are causal: the loss with attention replaced, and heads that stand out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

import pandas as pd

from headscope.analyses.effects.kept.rows import Replaced, explained_shares, replaced_of
from headscope.analyses.effects.kept.tables import ADDED, UNIFORM
from headscope.report_kit.claim_rules import above, below
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, listed, numbered, sentence
from headscope.report_kit.numbers import nats, percent
from headscope.report_kit.report_parts import Context
from headscope.report_kit.words import count
from headscope.statistics.inference.worth_saying import LEAST_LOSS

TOPIC = "effect_kept"
HALF = 0.5


def kept_findings(about: Context) -> list[Sentence]:
    """Return findings on the loss with all attention replaced, and on heads whose explanation predicts the attention
    but does not keep the effect, or the reverse."""
    table = about.run.tables.get("effect_kept")
    if table is None or not len(table):
        return []
    findings = model_sentences(table)
    for kind in about.kinds:
        every = [each for each in replaced_of(table) if each.kind == kind.name and each.head is not None]
        with_effect = {(each.layer, each.head) for each in compress(every, has_effect(every))}
        heads = [each for each in sure_heads(about, kind) if (each[0].layer, each[0].head) in with_effect]
        findings += kind.findings(_stand_out(kind, heads))
    return findings


def model_sentences(table: pd.DataFrame) -> list[Sentence]:
    """Return sentences on the added loss when all attention of the model is replaced.

    Args:
        table: `tables/effect_kept.parquet`.
    """
    model = next((each for each in replaced_of(table) if each.layer is None), None)
    if model is None:
        return []
    if model.cells[UNIFORM].has_interval and not has_effect([model])[0]:
        none = f"is not shown to cost {LEAST_LOSS:g} nats of loss"
        return [sentence(TOPIC, f"uniform attention in every head {none}.")]
    uniform, explained, positions = (nats(model.cells[name].value) for name in ADDED)
    how = f"Positions alone in place of all attention lose {positions} nats"
    # An interval wider than the whole effect is uninformative about a share of it.
    if model.kept.has_interval and model.kept.ci_high - model.kept.ci_low < 1:
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


def has_effect(replaced: Sequence[Replaced]) -> list[bool]:
    """Return for each head of one kind True if uniform attention is shown to add at least `LEAST_LOSS` nats."""
    return above([each.cells[UNIFORM] for each in replaced], least=LEAST_LOSS)


def sure_heads(about: Context, kind: Kind) -> list[tuple[Replaced, float]]:
    """Return the heads of a kind whose effect kept has an interval, each with its explained share."""
    shares = explained_shares(about.run, kind)
    heads = [
        (each, shares.get((each.layer, each.head), float("nan")))
        for each in replaced_of(about.run.tables["effect_kept"])
        if each.kind == kind.name and each.layer is not None and each.head is not None and each.kept.has_interval
    ]
    return [(each, share) for each, share in heads if share == share]


def _stand_out(kind: Kind, heads: Sequence[tuple[Replaced, float]]) -> list[Sentence]:
    """Name the heads whose explanation predicts the attention but does not keep the effect, and the reverse."""
    kept = [each.kept for each, _ in heads]
    idle = [each for each, share in compress(heads, below(kept, HALF)) if share > HALF]
    carrying = [each for each, share in compress(heads, above(kept, HALF)) if share < HALF]
    return [*_named(idle, "over half", "less than half", kind), *_named(carrying, "less than half", "over half", kind)]


def _named(heads: Sequence[Replaced], predicted: str, kept: str, kind: Kind) -> list[Sentence]:
    if not heads:
        return []
    of = f"{count(len(heads), 'head')}{kind.of_kind}"
    largest_first = sorted(heads, key=lambda each: -each.effect)
    return [
        sentence(
            TOPIC,
            f"{predicted} of the attention of {of} is explained, but {kept} of the effect kept: ",
            *listed(numbered(kind.name, each.layer or 0, each.head or 0) for each in largest_first),
            ".",
        )
    ]
