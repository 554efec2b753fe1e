"""Findings on shares of attention: neighboring positions, special tokens and punctuation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan

import pandas as pd

from headscope.report_kit.claim_rules import LEAST_SHARE, beats_all, stands_out, strongest, target
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import (
    MOST_LISTED,
    HeadRef,
    Sentence,
    continued,
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


def no_share_stands_out(kinds: Sequence[Kind], words: Words) -> Iterator[Sentence]:
    """Say that no head stands out, by which threshold, and what the largest share measured is."""
    every = [(cell, kind.head(a, b), name) for kind in kinds for name in BEHAVIORS for a, b, cell in kind.each(name)]
    best = max(every, key=lambda item: item[0].value, default=None)
    known = {cell.has_interval for cell, _, _ in every}
    largest: list[str | HeadRef] = []
    even = ""
    if best is not None:
        cell, head, name = best
        value = "".join(measured(cell, name))
        largest = [f"the largest share is {value}, of ", head, f" on {target(name, words)}"]
        even = "" if isnan(cell.uniform) else f" (here {percent(cell.uniform)})"
    if True in known:
        yield sentence("none", "no head stands out: ", *largest, ".")
        interval = f"the whole 95% interval{' where there is one' if False in known else ''}"
        yield continued("none", f"The threshold is a quarter and twice uniform attention{even}, with {interval}.")
        return
    why = f"which needs at least {FEWEST_DOCUMENTS} documents"
    yield sentence("none", f"Whether a head stands out was not tested, {why}.")
    if largest:
        yield continued("none", *largest, ".")


def position_sentences(kind: Kind, words: Words, differences: pd.DataFrame | None) -> Iterator[Sentence]:
    """Say which heads look at their neighbors, and that none looks at itself."""
    for name in ("previous", "next"):
        best = strongest(kind, name)
        is_best = best is not None and beats_all(differences, kind, name, *best[:2])
        more = f", more than any other {kind.noun}" if is_best else ""
        yield from _strongest(kind, name, words, topic="position", more=more)
    for name in ("previous", "next"):
        yield from _over_half(kind, name, words, topic="position", fewest=2)
    current = [cell for _, _, cell in kind.each("current")]
    highest = max((cell.high for cell in current), default=LEAST_SHARE)
    if highest < LEAST_SHARE and all(cell.has_interval for cell in current):
        bar = percent(next(step for step in (0.05, 0.1, 0.15, 0.2, 0.25) if highest < step), 0)
        less = f"every {kind.noun} puts less than {bar} of its attention on the current token"
        yield sentence("position", f"{less} (all intervals lie below).", figure=kind.shades("current"))


def special_sentences(kind: Kind, words: Words) -> Iterator[Sentence]:
    """Say which layers and heads put much attention on special tokens, punctuation or a learned sink."""
    layers_of = {
        name: [(layer, cell) for layer, cell in kind.each_layer(name) if stands_out(cell)] for name in _SPECIAL
    }
    highest = {name: max(cell.value for _, cell in layers) for name, layers in layers_of.items() if layers}
    for name in sorted(highest, key=lambda name: -highest[name]):
        yield from _of_layers(kind, name, layers_of[name], words)
    for name in _SPECIAL:
        over = _over_half(kind, name, words, topic="special", fewest=1)
        yield from over or _strongest(kind, name, words, topic="special")


def _strongest(kind: Kind, statistic: str, words: Words, *, topic: str, more: str = "") -> list[Sentence]:
    """Name the head with the largest share, where that stands out."""
    best = strongest(kind, statistic)
    if best is None or not stands_out(best[2]):
        return []
    layer, head, cell = best
    value = "".join(measured(cell, statistic))
    text = f" puts {value} of its attention on {target(statistic, words)}{more}."
    return [sentence(topic, kind.head(layer, head), text)]


def _over_half(kind: Kind, statistic: str, words: Words, *, topic: str, fewest: int) -> list[Sentence]:
    """Name the heads whose whole interval lies above one half; not corrected for the number of heads."""
    over = [(a, b, cell) for a, b, cell in kind.each(statistic) if cell.has_interval and cell.low > 0.5]
    if len(over) < fewest:
        return []
    over.sort(key=lambda item: -item[2].value)
    refs = [numbered(kind.name, a, b) for a, b, _ in over]
    verb, its = ("puts", "its") if len(over) == 1 else ("put", "their")
    whole = f"{len(over):,} of {count(kind.size, kind.noun)} {verb} over half of {its} attention"
    text = f"{whole} (whole 95% interval) on {target(statistic, words)}: "
    return [sentence(topic, text, *listed(refs), ".", figure=kind.shades(statistic))]


def _of_layers(kind: Kind, name: str, layers: list[tuple[int, Cell]], words: Words) -> Iterator[Sentence]:
    """Say how much of the attention of layers something gets, and what it would get of uniform attention."""
    where = f"{layer_list([layer for layer, _ in layers], most=MOST_LISTED)}{kind.of_kind}"
    cells = [cell for _, cell in layers]
    if len(cells) == 1:
        amount = "".join(measured(cells[0], name))
    else:
        lowest, highest = (percent(end(cell.value for cell in cells)) for end in (min, max))
        floor = percent(int(100 * min(cell.low for cell in cells)) / 100, 0)
        every = f" (every 95% interval above {floor})" if all(cell.has_interval for cell in cells) else ""
        amount = f"{lowest} to {highest}{every}"
    on = target(name, words)
    verb = "get" if name == "period_comma" else "gets"
    yield sentence("special", f"{on} {verb} {amount} of attention in {where}.", figure=kind.shades(name))
    even = percent(sum(cell.uniform for cell in cells) / len(cells))
    yield continued("special", f"Uniform attention would give {on} {even} in {where}.")
