"""Findings on shares of attention: neighboring positions, special tokens and punctuation."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import compress
from math import floor, isnan

import pandas as pd

from headscope.report_kit.claim_rules import above, layers_standing_out, standing_out, target
from headscope.report_kit.comparing import comparisons, verdicts
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import MOST_LISTED, Sentence, continued, listed, measured, numbered, sentence
from headscope.report_kit.numbers import percent
from headscope.report_kit.tables.cells import Cell
from headscope.report_kit.words import Words, count, layer_list
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.worth_saying import LARGE_SHARE, LEAST_SHARE

BEHAVIORS = ("previous", "next", "current", "cls", "sep", "period_comma")
"""The shares that `no_share_stands_out` checks."""
_SPECIAL = ("cls", "sep", "period_comma", "sink_logit")


def no_share_stands_out(kinds: Sequence[Kind], words: Words) -> Iterator[Sentence]:
    """Yield the finding that no head stands out, with the threshold and an upper bound on all shares."""
    every = [cell for kind in kinds for name in BEHAVIORS for _, _, cell in kind.each(name)]
    if not every:
        return
    largest = max(every, key=lambda cell: cell.high)
    even = "" if isnan(largest.uniform) else f" (here {percent(largest.uniform)})"
    if any(cell.has_interval for cell in every):
        bar = f"{floor(100 * largest.high) + 1}%"
        special = [target(name, words) for name in ("cls", "sep") if any(kind.occurs(name) for kind in kinds)]
        places = ", ".join(["a neighboring token", *special, "or periods and commas"])
        rule = f"a quarter and twice uniform attention{even}, with the whole 95% interval"
        yield sentence("none", f"no head stands out: none puts {bar} or more of its attention on {places}.")
        yield continued("none", f"The threshold is {rule}.")
        return
    why = f"which needs at least {FEWEST_DOCUMENTS} documents"
    yield sentence("none", f"Whether a head stands out was not tested, {why}.")
    yield continued("none", f"The largest share that was measured is {percent(largest.value)}.")


def position_sentences(kind: Kind, words: Words, differences: pd.DataFrame | None) -> Iterator[Sentence]:
    """Yield findings on the heads that attend to neighboring tokens, and on the absence of attention to itself."""
    first = _above_all_others(differences, documents=kind.documents)
    for name in ("previous", "next"):
        yield from _strongest(kind, name, words, topic="position", first=first)
    for name in ("previous", "next"):
        yield from _over_half(kind, name, words, topic="position", fewest=2)
    current = [cell for _, _, cell in kind.each("current")]
    highest = max((cell.high for cell in current), default=LARGE_SHARE)
    if highest < LARGE_SHARE and all(cell.has_interval for cell in current):
        bar = percent(next(step for step in (0.05, 0.1, 0.15, 0.2, 0.25) if highest < step), 0)
        less = f"every {kind.noun} puts less than {bar} of its attention on the current token"
        yield sentence("position", f"{less} (all intervals lie below).", figure=kind.shades("current"))


def special_sentences(kind: Kind, words: Words) -> Iterator[Sentence]:
    """Yield findings on layers and heads with much attention to special tokens, punctuation or a learned sink."""
    layers_of = {name: layers_standing_out(kind, name) for name in _SPECIAL}
    highest = {name: max(cell.value for _, cell in layers) for name, layers in layers_of.items() if layers}
    for name in sorted(highest, key=lambda name: -highest[name]):
        yield from _of_layers(kind, name, layers_of[name], words)
    for name in _SPECIAL:
        over = _over_half(kind, name, words, topic="special", fewest=1)
        yield from over or _strongest(kind, name, words, topic="special")


def _above_all_others(differences: pd.DataFrame | None, *, documents: int) -> set[tuple[object, ...]]:
    """Return (kind, layer, head, statistic) of the heads whose share is shown to exceed that of every other head."""
    every = [(row, gap) for row, gap in comparisons(differences) if not pd.isna(row["head"])]
    sides = verdicts([gap for _, gap in every], least=LEAST_SHARE, documents=documents)
    columns = ("kind", "layer", "head", "statistic")
    return {tuple(row[name] for name in columns) for (row, _), side in zip(every, sides, strict=True) if side == "more"}


def _strongest(
    kind: Kind, statistic: str, words: Words, *, topic: str, first: Collection[tuple[object, ...]] = ()
) -> list[Sentence]:
    """Name the head with the largest share, where that stands out; `first` are the heads above all others."""
    large = standing_out(kind, statistic)
    if not large:
        return []
    layer, head, cell = max(large, key=lambda item: item[2].value)
    more = f", more than any other {kind.noun}" if (kind.name, layer, head, statistic) in first else ""
    value = "".join(measured(cell, statistic))
    text = f" puts {value} of its attention on {target(statistic, words)}{more}."
    return [sentence(topic, kind.head(layer, head), text)]


def _over_half(kind: Kind, statistic: str, words: Words, *, topic: str, fewest: int) -> list[Sentence]:
    """Name the heads whose share is shown to lie above one half."""
    every = list(kind.each(statistic))
    over = list(compress(every, above([cell for _, _, cell in every], 0.5, documents=kind.documents)))
    if len(over) < fewest:
        return []
    over.sort(key=lambda item: -item[2].value)
    refs = [numbered(kind.name, a, b) for a, b, _ in over]
    verb, its = ("puts", "its") if len(over) == 1 else ("put", "their")
    whole = f"{len(over):,} of {count(kind.size, kind.noun)} {verb} over half of {its} attention"
    text = f"{whole} (whole 95% interval) on {target(statistic, words)}: "
    return [sentence(topic, text, *listed(refs), ".", figure=kind.shades(statistic))]


def _of_layers(kind: Kind, name: str, layers: list[tuple[int, Cell]], words: Words) -> Iterator[Sentence]:
    """Yield findings on the share of attention that a target gets in layers, and on that of uniform attention."""
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
