"""Findings on attention from separators to separators, and on focused and broad heads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import compress

import pandas as pd
from scipy.stats import hypergeom

from headscope.report_kit.claim_rules import above, below
from headscope.report_kit.comparing import Comparison, Verdict, compared, comparisons, verdicts
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import MOST_LISTED, Sentence, continued, measured, sentence
from headscope.report_kit.numbers import amount, percent
from headscope.report_kit.words import Words, count, layer_list
from headscope.statistics.inference.significance import SIGNIFICANT
from headscope.statistics.inference.worth_saying import LEAST_ENTROPY, LEAST_SHARE
from headscope.statistics.role_catalog import BROAD_RATIO

NARROW_RATIO = 0.5
"""Share of the entropy of uniform attention below which a head is narrowly focused."""


def noop_sentences(kind: Kind, words: Words, differences: pd.DataFrame | None) -> Iterator[Sentence]:
    """Yield findings on the layers in which the separator attends to itself more than other tokens do."""
    of, sep, statistics = kind.of_kind, words.sep, ("sep_to_sep", "other_to_sep")
    keys = dict(zip(("statistic", "than_statistic"), statistics))
    sides: dict[Verdict, dict[int, Comparison]] = {"more": {}, "less": {}, "same": {}, "untested": {}}
    every = comparisons(differences, head=None, **keys)
    for (row, gap), verdict in zip(
        every, verdicts([gap for _, gap in every], least=LEAST_SHARE, documents=kind.documents), strict=True
    ):
        if row["kind"] == kind.name:
            sides[verdict][int(row["layer"])] = gap
    layers = {side: layer_list(sorted(gaps), most=MOST_LISTED) for side, gaps in sides.items() if gaps}
    if more := sides["more"]:
        text = f"{sep} tokens give {sep} more attention than other tokens do in {layers['more']}{of}."
        yield sentence("noop", text, figure=kind.shades("sep_to_sep"))
        layer = max(more, key=lambda layer: more[layer].difference)
        first, second = (
            "".join(measured(kind.cell(name, layer), name, long=name == statistics[0])) for name in statistics
        )
        put = f"{sep} tokens put {first} of attention on {sep}, other tokens {second}"
        yield continued("noop", f"in layer {layer}{of}, {put}.")
        points = more[layer].points(signed=False)
        yield continued("noop", f"the difference in layer {layer}{of} is {points}.")
    if sides["less"]:
        text = f"{sep} tokens give {sep} less attention than other tokens do in {layers['less']}{of}."
        yield sentence("noop", text, figure=kind.shades("sep_to_sep"))
    if sides["same"]:
        at_most = max(sides["same"].values(), key=lambda gap: gap.bound).at_most()
        text = f"in {layers['same']}{of} {at_most} is seen between {sep} tokens and others."
        yield sentence("noop", text, figure=kind.shades("sep_to_sep"))


def focus_sentences(kind: Kind, *, none_stands_out: bool) -> Iterator[Sentence]:
    """Yield findings on the heads that attend broadly, and on the most narrowly focused head.

    A head counts as broad or narrow where its entropy is shown to lie beyond the threshold. With `none_stands_out` a
    sentence adds that the narrow head has no large share nevertheless.
    """
    tested = [
        (layer, head, cell) for layer, head, cell in kind.each("entropy") if cell.uniform > 0 and cell.has_interval
    ]
    cells = [cell for _, _, cell in tested]
    is_broad = above(cells, [BROAD_RATIO * cell.uniform for cell in cells], documents=kind.documents)
    if broad := [(layer, head) for layer, head, _ in compress(tested, is_broad)]:
        yield from _broad(kind, broad)
    is_narrow = below(cells, [NARROW_RATIO * cell.uniform for cell in cells], documents=kind.documents)
    least = min(compress(tested, is_narrow), key=lambda item: item[2].value, default=None)
    if least is not None:
        layer, head, cell = least
        value, even = "".join(measured(cell, "entropy")), amount(cell.uniform, "entropy")
        text = f" is narrowly focused: its entropy is {value}, where uniform attention has {even}."
        yield sentence("focus", kind.head(layer, head), text)
        if none_stands_out:
            nowhere = " stands out at no position, special token or punctuation."
            yield continued("focus", kind.head(layer, head), nowhere)


def _broad(kind: Kind, broad: Sequence[tuple[int, int]]) -> Iterator[Sentence]:
    """Yield findings on the number of broad heads, on the layer of most of them, and on their largest weight."""
    layer, most = Counter(layer for layer, _ in broad).most_common(1)[0]
    where = ""
    # Null hypothesis: the broad heads are drawn at random from all heads; any layer could have most of them.
    chance = kind.layers * hypergeom.sf(most - 1, kind.size, len(broad), kind.heads_per_layer)
    if most > len(broad) / 2 and chance < SIGNIFICANT:
        where = f", {'all' if most == len(broad) else f'{most:,} of them'} in layer {layer},"
    whole = f"{len(broad):,} of {count(kind.size, kind.noun)}{where}"
    verb = "attends" if len(broad) == 1 else "attend"
    above = f"entropy above {percent(BROAD_RATIO)} of uniform attention’s (whole 95% interval)"
    broadness = kind.shades("entropy", of_uniform=True)
    yield sentence("focus", f"{whole} {verb} broadly: {above}.", figure=broadness)
    light = sum(below([kind.cell("max_weight", *head) for head in broad], 0.1, documents=kind.documents))
    if light and len(broad) > 1:
        these = (
            f"none of the broad {kind.noun}s puts 10% or more"
            if light == len(broad)
            else f"{light:,} of the broad {kind.noun}s {'puts' if light == 1 else 'put'} less than 10%"
        )
        yield continued("focus", f"{these} on any one token on average.")


def first_token_sentences(
    kind: Kind, kinds: Sequence[Kind], words: Words, differences: pd.DataFrame | None
) -> Iterator[Sentence]:
    """Compare the entropy from the first token with that from all tokens in the last layer, as the paper does.

    Args:
        kind: kind of attention of the sentences.
        kinds: all kinds of attention, among which differences are tested.
        words: words with the name of the first token.
        differences: `tables/stats_differences.parquet`.
    """
    statistics = {"statistic": "entropy_cls", "than_statistic": "entropy"}
    gaps = {
        each.name: gap
        for each in kinds
        if (gap := compared(differences, kind=each.name, layer=each.layers, head=None, **statistics))
    }
    first, every = kind.cell("entropy_cls", kind.layers), kind.cell("entropy", kind.layers)
    verdict = dict(
        zip(gaps, verdicts(list(gaps.values()), least=LEAST_ENTROPY, documents=kind.documents), strict=True)
    ).get(kind.name, "untested")
    if verdict == "untested" or not first.exists:
        return
    gap, start = gaps[kind.name], f"in the last layer{kind.of_kind}"
    if verdict == "same":
        none = f"no difference in entropy larger than {max(gap.bound, LEAST_ENTROPY):.2f} nats"
        text = f"{start} {none} is seen between {words.cls} and the average token."
    else:
        nearest = min(abs(gap.low), abs(gap.high))
        distance = f"{abs(gap.difference):.2f} nats (95% interval {nearest:.2f} to {gap.bound:.2f}) of entropy"
        broadly = f"{words.cls} attends {verdict} broadly than average, by"
        text = f"{start} {broadly} {distance}."
    yield sentence("focus", text, figure=kind.shades("entropy_cls", of_uniform=True))
    of_first, of_every = ("".join(measured(first, "entropy_cls")), "".join(measured(every, "entropy", long=False)))
    yield continued("focus", f"the average entropy from {words.cls} is {of_first}, over all tokens {of_every}.")
