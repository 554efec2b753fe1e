"""Findings on shares of attention: neighboring positions, special tokens and punctuation."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan

import pandas as pd

from headscope.report_kit.claim_rules import LEAST_SHARE, beats_all, stands_out, strongest, target
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import (
    MOST_LISTED,
    HeadRef,
    Sentence,
    listed,
    measured,
    numbered,
    sentence,
)
from headscope.report_kit.numbers import percent
from headscope.report_kit.tables.cells import Cell
from headscope.report_kit.words import Words, count, layer_list
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS

BEHAVIORS = ("previous", "next", "current", "cls", "sep", "period_comma")
"""The shares that `no_share_stands_out` looks through."""
_SPECIAL = ("cls", "sep", "period_comma", "sink_logit")


def no_share_stands_out(kinds: Sequence[Kind], words: Words) -> list[Sentence]:
    """Say that no head stands out, by which threshold, and what the largest share measured is."""
    best = max(
        (
            (cell.value, kind, name, a, b)
            for kind in kinds
            for name in BEHAVIORS
            for a, b, cell in kind.each(name)
        ),
        key=lambda item: item[0],
        default=None,
    )
    known = {cell.has_interval for kind in kinds for name in BEHAVIORS for _, _, cell in kind.each(name)}
    largest: list[str | HeadRef] = []
    even = ""
    if best is not None:
        _, kind, name, layer, head = best
        cell = kind.cell(name, layer, head)
        value, ends = measured(cell, name)
        largest = [
            f"the largest share is {value}{ends}, of ",
            kind.head(layer, head),
            f" on {target(name, words)}",
        ]
        even = "" if isnan(cell.uniform) else f" (here {percent(cell.uniform)})"
    if True not in known:
        untested = (
            f"Whether a head stands out was not tested, which needs at least {FEWEST_DOCUMENTS} documents."
        )
        out = [sentence("none", untested)]
        return [*out, sentence("none", *largest, ".", goes_on=True)] if largest else out
    bound = " where there is one" if False in known else ""
    return [
        sentence("none", "no head stands out: ", *largest, "."),
        sentence(
            "none",
            f"The threshold is a quarter and twice uniform attention{even}, with the whole 95% interval{bound}.",
            goes_on=True,
        ),
    ]


def position_sentences(kind: Kind, words: Words, differences: pd.DataFrame | None) -> list[Sentence]:
    """Say which heads look at their neighbors, and that none looks at itself."""
    out = []
    for name in ("previous", "next"):
        best = strongest(kind, name)
        if best is None or not stands_out(best[2]):
            continue
        layer, head, cell = best
        value, ends = measured(cell, name)
        more = f", more than any other {kind.noun}" if beats_all(differences, kind, name, layer, head) else ""
        out.append(
            sentence(
                "position",
                kind.head(layer, head),
                f" puts {value}{ends} of its attention on {target(name, words)}{more}.",
            )
        )
    for name in ("previous", "next"):
        out += _over_half(kind, name, words, topic="position", fewest=2)
    highest = max((cell.high for _, _, cell in kind.each("current")), default=None)
    if (
        highest is not None
        and highest < LEAST_SHARE
        and all(c.has_interval for _, _, c in kind.each("current"))
    ):
        bar = next(step for step in (0.05, 0.1, 0.15, 0.2, 0.25) if highest < step)
        out.append(
            sentence(
                "position",
                f"every {kind.noun} puts less than {percent(bar, 0)} of its attention on the current token "
                "(all intervals lie below).",
            )
        )
    return out


def special_sentences(kind: Kind, words: Words) -> list[Sentence]:
    """Say which layers and heads put much attention on special tokens, punctuation or a learned sink."""
    out = []
    for name in _SPECIAL:
        layers = [(layer, cell) for layer, cell in kind.each_layer(name) if stands_out(cell)]
        if layers:
            out.append((max(cell.value for _, cell in layers), _of_layers(kind, name, layers, words)))
    ordered = [finding for _, findings in sorted(out, key=lambda pair: -pair[0]) for finding in findings]
    for name in _SPECIAL:
        over = _over_half(kind, name, words, topic="special", fewest=1)
        best = strongest(kind, name)
        if not over and best is not None and stands_out(best[2]):
            layer, head, cell = best
            value, ends = measured(cell, name)
            over = [
                sentence(
                    "special",
                    kind.head(layer, head),
                    f" puts {value}{ends} of its attention on {target(name, words)}.",
                )
            ]
        ordered += over
    return ordered


def _over_half(kind: Kind, statistic: str, words: Words, *, topic: str, fewest: int) -> list[Sentence]:
    """Name the heads whose whole interval lies above one half; not corrected for the number of heads."""
    over = [(a, b, cell) for a, b, cell in kind.each(statistic) if cell.has_interval and cell.low > 0.5]
    if len(over) < fewest:
        return []
    over.sort(key=lambda item: -item[2].value)
    refs = [numbered(kind.name, a, b) for a, b, _ in over]
    whole = f"{len(over):,} of {count(kind.size, kind.noun)}"
    verb = "puts" if len(over) == 1 else "put"
    its = "its" if len(over) == 1 else "their"
    return [
        sentence(
            topic,
            f"{whole} {verb} over half of {its} attention (whole 95% interval) on {target(statistic, words)}: ",
            *listed(refs),
            ".",
        )
    ]


def _of_layers(kind: Kind, name: str, layers: list[tuple[int, Cell]], words: Words) -> list[Sentence]:
    """Say how much of the attention of layers something gets, and what it would get of uniform attention."""
    where = f"{layer_list([layer for layer, _ in layers], most=MOST_LISTED)}{kind.of_kind}"
    lowest, highest = min(c.value for _, c in layers), max(c.value for _, c in layers)
    if len(layers) == 1:
        value, ends = measured(layers[0][1], name)
        amount = f"{value}{ends}"
    else:
        floor = percent(_round_down(min(cell.low for _, cell in layers)), 0)
        every = all(cell.has_interval for _, cell in layers)
        amount = f"{percent(lowest)} to {percent(highest)}"
        amount += f" (every 95% interval above {floor})" if every else ""
    on = target(name, words)
    verb = "get" if name == "period_comma" else "gets"
    even = percent(sum(c.uniform for _, c in layers) / len(layers))
    these = "this layer" if len(layers) == 1 else "these layers"
    return [
        sentence("special", f"{on} {verb} {amount} of attention in {where}."),
        sentence(
            "special", f"Uniform attention would give {on} {even} in {these}{kind.of_kind}.", goes_on=True
        ),
    ]


def _round_down(share: float) -> float:
    return int(100 * share) / 100
