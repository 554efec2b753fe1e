"""Findings on attention from separators to separators, and on how focused or broad heads are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pandas as pd

from headscope.report_kit.comparing import Comparison, Verdict, compared, comparisons
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import MOST_LISTED, Sentence, continued, measured, sentence
from headscope.report_kit.numbers import amount, percent
from headscope.report_kit.words import Words, count, layer_list
from headscope.statistics.role_catalog import BROAD_RATIO


def noop_sentences(kind: Kind, words: Words, differences: pd.DataFrame | None) -> Iterator[Sentence]:
    """Say in which layers the separator attends to itself more than other tokens attend to it."""
    of, sep, statistics = kind.of_kind, words.sep, ("sep_to_sep", "other_to_sep")
    keys = dict(zip(("statistic", "than_statistic"), statistics))
    sides: dict[Verdict, dict[int, Comparison]] = {"more": {}, "less": {}, "same": {}, "untested": {}}
    for row, gap in comparisons(differences, kind=kind.name, head=None, **keys):
        sides[gap.verdict][int(row["layer"])] = gap
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


def focus_sentences(
    kind: Kind, words: Words, differences: pd.DataFrame | None, *, none_stands_out: bool
) -> Iterator[Sentence]:
    """Say which heads attend broadly, which is narrow, and how broad the first token's attention is.

    A head counts as broad or narrow where its whole interval lies beyond the threshold. With `none_stands_out` the
    sentence says that a narrow head has no large share all the same.
    """
    tested = [
        (layer, head, cell) for layer, head, cell in kind.each("entropy") if cell.uniform > 0 and cell.has_interval
    ]
    if broad := [(a, b) for a, b, cell in tested if cell.low > BROAD_RATIO * cell.uniform]:
        yield from _broad(kind, broad)
    narrow = (item for item in tested if item[2].high < 0.5 * item[2].uniform)
    least = min(narrow, key=lambda item: item[2].value, default=None)
    if least is not None:
        layer, head, cell = least
        value, even = "".join(measured(cell, "entropy")), amount(cell.uniform, "entropy")
        text = f" is narrowly focused: its entropy is {value}, where uniform attention has {even}."
        yield sentence("focus", kind.head(layer, head), text)
        if none_stands_out:
            nowhere = " stands out at no position, special token or punctuation."
            yield continued("focus", kind.head(layer, head), nowhere)
    yield from _from_first(kind, words, differences)


def _broad(kind: Kind, broad: Sequence[tuple[int, int]]) -> Iterator[Sentence]:
    """Say how many heads attend broadly, where most of them are, and how little they put on any one token."""
    layer, most = Counter(layer for layer, _ in broad).most_common(1)[0]
    where = ""
    if most > len(broad) / 2 and kind.layers > 1 and len(broad) > 1:
        where = f", {'all' if most == len(broad) else f'{most:,} of them'} in layer {layer},"
    whole = f"{len(broad):,} of {count(kind.size, kind.noun)}{where}"
    verb = "attends" if len(broad) == 1 else "attend"
    above = f"entropy above {percent(BROAD_RATIO)} of uniform attention’s (whole 95% interval)"
    broadness = kind.shades("entropy", of_uniform=True)
    yield sentence("focus", f"{whole} {verb} broadly: {above}.", figure=broadness)
    cells = [kind.cell("max_weight", *head) for head in broad]
    light = sum(cell.has_interval and cell.high < 0.1 for cell in cells)
    if light and len(broad) > 1:
        these = (
            f"none of the broad {kind.noun}s puts 10% or more"
            if light == len(broad)
            else f"{light:,} of the broad {kind.noun}s {'puts' if light == 1 else 'put'} less than 10%"
        )
        yield continued("focus", f"{these} on any one token on average.")


def _from_first(kind: Kind, words: Words, differences: pd.DataFrame | None) -> Iterator[Sentence]:
    """Compare the entropy from the first token with that from all tokens in the last layer, as the paper does."""
    first, every = kind.cell("entropy_cls", kind.layers), kind.cell("entropy", kind.layers)
    gap = compared(
        differences,
        kind=kind.name, layer=kind.layers, head=None, statistic="entropy_cls", than_statistic="entropy",
    )  # fmt: skip
    if gap is None or gap.verdict == "untested" or not first.exists:
        return
    start = f"in the last layer{kind.of_kind}"
    if gap.verdict == "same":
        none = f"no difference in entropy larger than {gap.bound:.2f} nats"
        text = f"{start} {none} is seen between {words.cls} and the average token."
    else:
        nearest = min(abs(gap.low), abs(gap.high))
        distance = f"{abs(gap.difference):.2f} nats (95% interval {nearest:.2f} to {gap.bound:.2f}) of entropy"
        broadly = f"{words.cls} attends {gap.verdict} broadly than average, by"
        text = f"{start} {broadly} {distance}."
    yield sentence("focus", text, figure=kind.shades("entropy_cls", of_uniform=True))
    of_first, of_every = ("".join(measured(first, "entropy_cls")), "".join(measured(every, "entropy", long=False)))
    yield continued("focus", f"the average entropy from {words.cls} is {of_first}, over all tokens {of_every}.")
