"""Findings on which heads the model's predictions depend on, one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from headscope.analyses.effects.accumulator import GATE
from headscope.analyses.effects.wording import WORDINGS, Wording
from headscope.report_kit.claim_rules import above, below, leading
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import HeadRef, Sentence, listed, numbered, sentence
from headscope.report_kit.numbers import nats, span
from headscope.report_kit.report_parts import Context
from headscope.report_kit.small_figures import Shades
from headscope.report_kit.tables.cells import Cell, cell_of, number, records
from headscope.report_kit.words import count
from headscope.statistics.inference.significance import SIGNIFICANT
from headscope.statistics.inference.worth_saying import LEAST_LOSS

TOPIC = "effects"
ASIDE = "effects_aside"
"""The topic of findings without a headline: effects that were not tested or not shown, and the heads that were
changed."""


@dataclass(frozen=True)
class HeadEffect:
    """The added loss of a model when one head is changed.

    Attributes:
        layer, head: layer and head, from 1.
        added: added loss in nats, with its interval.
        q_value: q-value of the test that the added loss is 0; NaN where it was not tested.
    """

    layer: int
    head: int
    added: Cell
    q_value: float

    @property
    def is_shown(self) -> bool:
        """True if the loss changes significantly (false discovery rate 5% over all heads) and by `LEAST_LOSS`."""
        return self.q_value < SIGNIFICANT and abs(self.added.value) >= LEAST_LOSS


def added_losses(table: pd.DataFrame, kind: str) -> list[HeadEffect]:
    """Return the added loss of every head of a kind that has a value, the largest first.

    Args:
        table: `tables/effects.parquet`.
        kind: `encoder`, `decoder` or `cross`.
    """
    rows = table[(table["kind"] == kind) & (table["measure"] == "loss") & table["value"].notna()]
    effects = [
        HeadEffect(int(row["layer"]), int(row["head"]), cell_of(row, "value"), number(row["q_value"]))
        for row in records(rows)
    ]
    return sorted(effects, key=lambda effect: -effect.added.value)


def wording_of(table: pd.DataFrame) -> Wording:
    """Return the wording of sentences on the intervention."""
    return WORDINGS[str(table["intervention"].iloc[0])]


def effect_findings(about: Context) -> list[Sentence]:
    """Return findings on the head whose loss rises most, and on the numbers of heads that change the loss, do not
    change it, or are undecided."""
    table = about.run.tables.get("effects")
    if table is None or not len(table):
        return []
    findings: list[Sentence] = []
    said: set[str] = set()
    for kind in about.kinds:
        effects = added_losses(table, kind.name)
        of_kind = kind.findings([*_some(kind, effects, table), *_of_kind(kind, effects, wording_of(table))])
        # Sentences on the intervention and on its limits are the same for all kinds, and are given once.
        findings += [each for each in of_kind if each.text not in said]
        said.update(each.text for each in of_kind)
    return findings


def some_changed(number: int, every: int, *, estimated: bool, of: str = "") -> str:
    """Return a sentence on the number of heads that were changed, if not all were.

    Args:
        number: number of heads that were changed.
        every: number of all heads.
        estimated: True if the heads were chosen by estimates.
        of: words that name their kind.
    """
    how = "half with the largest gate estimates, half drawn from the others" if estimated else "drawn by chance"
    return f"{count(number, 'head')} of {every:,}{of} were changed: {how}."


def _some(kind: Kind, effects: Sequence[HeadEffect], table: pd.DataFrame) -> list[Sentence]:
    if len(effects) in (0, kind.size):
        return []
    estimated = GATE in set(table["measure"])
    return [sentence(ASIDE, some_changed(len(effects), kind.size, estimated=estimated, of=kind.of_kind))]


def _of_kind(kind: Kind, effects: Sequence[HeadEffect], words: Wording) -> list[Sentence]:
    if not effects:
        return []
    if not effects[0].added.has_interval:
        text = f"Which heads{kind.of_kind} change the loss was not tested: an interval needs at least 10 documents."
        return [sentence(ASIDE, text)]
    how = sentence(TOPIC, words.how, goes_on=True)
    largest, changing = effects[0], [effect for effect in effects if effect.is_shown]
    findings = []
    if largest.is_shown and largest.added.value > 0:
        cell = largest.added
        most = " most:" if leading([effect.added for effect in effects], least=0.0) else ""
        findings += [
            sentence(
                TOPIC,
                words.before,
                kind.head(largest.layer, largest.head),
                f"{words.after} the loss rises{most} by {nats(cell.value)} nats (95% interval "
                f"{span(cell.ci_low, cell.ci_high)}).",
            ),
            how,
        ]
    inside = _within([effect.added for effect in effects])
    left = len(effects) - len(changing) - sum(inside)
    verdicts = [
        *(
            [f"{sum(inside):,} {'does' if sum(inside) == 1 else 'do'} not (within {LEAST_LOSS:g} nats)"]
            if any(inside)
            else []
        ),
        *([f"{left:,} {'is' if left == 1 else 'are'} undecided"] if left else []),
    ]
    if changing:
        verb = "changes" if len(changing) == 1 else "change"
        findings.append(
            sentence(
                TOPIC,
                f"{count(len(changing), 'head')} of {len(effects):,}{kind.of_kind} {verb} the loss: ",
                *_listed(changing, kind),
                f"; {', '.join(verdicts)}." if verdicts else ".",
                figure=kind.shaded({(effect.layer, effect.head): 1 for effect in changing}),
            )
        )
    else:
        none = f"no head of {len(effects):,}{kind.of_kind} is shown to change the loss: {', '.join(verdicts)}."
        findings += [sentence(TOPIC if any(inside) else ASIDE, none, figure=Shades()), how]
    if any(inside):
        together = "Heads that change nothing alone may do so together: heads that do the same make up for each other."
        findings.append(sentence(TOPIC, together, goes_on=True))
    if better := [effect for effect in changing if effect.added.value < 0]:
        findings.append(sentence(TOPIC, f"the loss falls {words.several} ", *_listed(better[::-1], kind), "."))
    return findings


def _within(added: Sequence[Cell]) -> list[bool]:
    """Return for each added loss True if it is shown to be within `LEAST_LOSS` of 0, on both sides."""
    return [low and high for low, high in zip(above(added, -LEAST_LOSS), below(added, LEAST_LOSS), strict=True)]


def _listed(effects: Sequence[HeadEffect], kind: Kind) -> list[HeadRef | str]:
    return listed(numbered(kind.name, effect.layer, effect.head) for effect in effects)
