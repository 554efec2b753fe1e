"""Findings on logits: heads that copy or suppress the token they look at, and compensation by later layers."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import compress

import pandas as pd

from headscope.analyses.effects.accumulator import COMPENSATION, LOGIT
from headscope.attention.interventions.direct_effect import DIRECT
from headscope.report_kit.claim_rules import above, below, leading, turned
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import Sentence, listed, numbered, sentence
from headscope.report_kit.numbers import nats, span
from headscope.report_kit.report_parts import Context
from headscope.report_kit.tables.cells import Cell, cell_of, rows_by_head
from headscope.report_kit.words import count
from headscope.statistics.inference.worth_saying import LEAST_LOSS

TOPIC = "logits"
_DIRECT, _COPYING = DIRECT
Effects = dict[tuple[int, int], dict[str, Cell]]
"""The effects of each head on logits, by measure."""


def logit_findings(about: Context) -> list[Sentence]:
    """Return findings on heads that copy or suppress the token they look at most, and on heads that later layers
    compensate for."""
    table = about.run.tables.get("effects")
    if table is None or not len(table):
        return []
    return [
        each
        for kind in about.kinds
        for effects in [effects_on_logits(table, kind.name)]
        for each in kind.findings([*_copying(effects, kind), *_compensation(effects, kind)])
    ]


def effects_on_logits(table: pd.DataFrame, kind: str) -> Effects:
    """Return the effects on logits of the heads of a kind that have intervals; empty where there are none.

    Args:
        table: `tables/effects.parquet`.
        kind: `encoder`, `decoder` or `cross`.
    """
    measures = (LOGIT, _DIRECT, COMPENSATION, _COPYING)
    rows = table[(table["kind"] == kind) & table["measure"].isin(measures) & table["ci_low"].notna()]
    return {
        head: {name: cell_of(row, "value") for (name,), row in cells.items()}
        for head, cells in rows_by_head(rows, "measure")
    }


def _copying(effects: Effects, kind: Kind) -> list[Sentence]:
    scores = {head: cells[_COPYING] for head, cells in effects.items() if _COPYING in cells}
    copying, suppressed = (
        dict(compress(scores.items(), side(list(scores.values()), least=LEAST_LOSS))) for side in (above, below)
    )
    findings = []
    if copying:
        head = max(copying, key=lambda each: copying[each].value)
        cell, most = copying[head], kind.head(*head)
        findings += [
            sentence(
                TOPIC,
                most,
                f" copies: it adds {nats(cell.value)} (95% interval {span(cell.ci_low, cell.ci_high)}) to the logit of "
                "the token that it looks at most.",
            ),
            sentence(
                TOPIC,
                f"{count(len(copying), 'head')} of {len(scores):,}{kind.of_kind} "
                f"{'copies' if len(copying) == 1 else 'copy'} in this way (false discovery rate 5%).",
                goes_on=True,
                figure=kind.shaded(dict.fromkeys(copying, 1)),
            ),
        ]
    suppressing = sorted((cell.value, head) for head, cell in suppressed.items())
    if suppressing:
        heads = [head for _, head in suppressing]
        findings.append(
            sentence(
                TOPIC,
                f"{count(len(heads), 'head')} of {len(scores):,}{kind.of_kind} "
                f"{'suppresses' if len(heads) == 1 else 'suppress'} the token looked at most: ",
                *listed(numbered(kind.name, *head) for head in heads),
                ".",
                figure=kind.shaded(dict.fromkeys(heads, 1)),
            )
        )
    return findings


def _compensation(effects: Effects, kind: Kind) -> list[Sentence]:
    known = {head: cells for head, cells in effects.items() if COMPENSATION in cells}
    every = {head: cells[COMPENSATION] for head, cells in known.items()}
    made_up = dict(compress(known.items(), above(list(every.values()), least=LEAST_LOSS)))
    adding = above([cells[_DIRECT] for cells in made_up.values()], least=LEAST_LOSS)
    repaired = dict(compress(made_up.items(), adding))
    findings = []
    if repaired:
        head = max(repaired, key=lambda each: every[each].value)
        cells, most = repaired[head], _most(head, every)
        findings += [
            sentence(
                TOPIC,
                f"Later layers make up{most} for ",
                kind.head(*head),
                f": it adds {nats(cells[_DIRECT].value)} to the right token’s logit, and "
                f"{nats(lost) if (lost := cells[LOGIT].value) > 0 else 'none'} of it is lost without it.",
            ),
            sentence(
                TOPIC,
                f"They make up for {count(len(repaired), 'head')} of {len(known):,}{kind.of_kind} (false discovery "
                "rate 5%).",
                goes_on=True,
                figure=kind.shaded(dict.fromkeys(repaired, 1)),
            ),
        ]
    if needed := dict(compress(known.items(), below(list(every.values()), least=LEAST_LOSS))):
        head = min(needed, key=lambda each: every[each].value)
        cells, most = needed[head], _most(head, {each: turned(cell) for each, cell in every.items()})
        findings.append(
            sentence(
                TOPIC,
                "Later layers need ",
                kind.head(*head),
                f"{most}: without it the right token’s logit falls by {nats(cells[LOGIT].value)}, of which it adds "
                f"{nats(cells[_DIRECT].value)} itself.",
            )
        )
    return findings


def _most(head: tuple[int, int], every: Mapping[tuple[int, int], Cell]) -> str:
    """Return ` most` if the number of a head is shown to exceed that of every other head, else an empty string."""
    others = [cell for each, cell in every.items() if each != head]
    return " most" if leading([every[head], *others], least=0.0) else ""
