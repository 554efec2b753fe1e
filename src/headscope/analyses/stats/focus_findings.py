"""Findings on attention from separators to separators, and on how focused or broad heads are."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from headscope.report_kit.comparing import Comparison, Verdict, compared, comparisons
from headscope.report_kit.kinds import Kind
from headscope.report_kit.linked_sentences import MOST_LISTED, Sentence, measured, sentence
from headscope.report_kit.numbers import amount, percent
from headscope.report_kit.words import Words, count, layer_list
from headscope.statistics.role_catalog import BROAD_RATIO


def noop_sentences(kind: Kind, words: Words, differences: pd.DataFrame | None) -> list[Sentence]:
    """Say in which layers the separator attends to itself more than other tokens attend to it."""
    of = kind.of_kind
    sides: dict[Verdict, list[tuple[int, Comparison]]] = {"more": [], "less": [], "same": []}
    for row, gap in comparisons(
        differences, kind=kind.name, head=None, statistic="sep_to_sep", than_statistic="other_to_sep"
    ):
        if gap.verdict != "untested":
            sides[gap.verdict].append((int(row["layer"]), gap))
    if not any(sides.values()):
        return []
    out = [
        sentence(
            "noop",
            f"{words.sep} tokens give {words.sep} {side} attention than other tokens do in "
            f"{_layers(sides[side])}{of}.",
        )
        for side in ("more", "less")
        if sides[side]
    ]
    if sides["more"]:
        layer, gap = max(sides["more"], key=lambda item: item[1].difference)
        first, ends = measured(kind.cell("sep_to_sep", layer), "sep_to_sep")
        second, other_ends = measured(kind.cell("other_to_sep", layer), "other_to_sep", long=False)
        out.insert(
            1,
            sentence(
                "noop",
                f"in layer {layer}{of}, {words.sep} tokens put {first}{ends} of attention on {words.sep}, other tokens "
                f"{second}{other_ends}.",
                goes_on=True,
            ),
        )
        out.insert(
            2,
            sentence(
                "noop", f"the difference in layer {layer}{of} is {gap.points(signed=False)}.", goes_on=True
            ),
        )
    if sides["same"]:
        widest = max((gap for _, gap in sides["same"]), key=lambda gap: gap.bound)
        out.append(
            sentence(
                "noop",
                f"in {_layers(sides['same'])}{of} {widest.at_most()} is seen between {words.sep} tokens and others.",
            )
        )
    return out


def _layers(side: list[tuple[int, Comparison]]) -> str:
    return layer_list(sorted(layer for layer, _ in side), most=MOST_LISTED)


def focus_sentences(
    kind: Kind, words: Words, differences: pd.DataFrame | None, *, none_stands_out: bool
) -> list[Sentence]:
    """Say which heads attend broadly, which is narrow, and how broad the first token's attention is.

    A head counts as broad or narrow where its whole interval lies beyond the threshold. With `none_stands_out` the
    sentence says that a narrow head has no large share all the same.
    """
    broad = [
        (a, b, cell)
        for a, b, cell in kind.each("entropy")
        if cell.uniform > 0 and cell.has_interval and cell.low > BROAD_RATIO * cell.uniform
    ]
    out = []
    if broad:
        layers = Counter(layer for layer, _, _ in broad)
        layer, most = layers.most_common(1)[0]
        where = ""
        if most > len(broad) / 2 and kind.layers > 1 and len(broad) > 1:
            where = f", {'all' if most == len(broad) else f'{most:,} of them'} in layer {layer},"
        narrow = [kind.cell("max_weight", a, b) for a, b, _ in broad]
        light = sum(cell.has_interval and cell.high < 0.1 for cell in narrow)
        whole = f"{len(broad):,} of {count(kind.size, kind.noun)}"
        verb = "attends" if len(broad) == 1 else "attend"
        out.append(
            sentence(
                "focus",
                f"{whole}{where} {verb} broadly: entropy above {percent(BROAD_RATIO)} of uniform attention’s "
                "(whole 95% interval).",
            )
        )
        if light and len(broad) > 1:
            these = (
                f"none of the broad {kind.noun}s puts 10% or more"
                if light == len(broad)
                else f"{light:,} of the broad {kind.noun}s {'puts' if light == 1 else 'put'} less than 10%"
            )
            out.append(sentence("focus", f"{these} on any one token on average.", goes_on=True))
    narrow_heads = (
        (a, b, cell)
        for a, b, cell in kind.each("entropy")
        if cell.uniform > 0 and cell.has_interval and cell.high < 0.5 * cell.uniform
    )
    least = min(narrow_heads, key=lambda item: item[2].value, default=None)
    if least is not None:
        layer, head, cell = least
        value, ends = measured(cell, "entropy")
        out.append(
            sentence(
                "focus",
                kind.head(layer, head),
                f" is narrowly focused: its entropy is {value}{ends}, where uniform attention has "
                f"{amount(cell.uniform, 'entropy')}.",
            )
        )
        if none_stands_out:
            out.append(
                sentence(
                    "focus",
                    kind.head(layer, head),
                    " stands out at no position, special token or punctuation.",
                    goes_on=True,
                )
            )
    out += _from_first(kind, words, differences)
    return out


def _from_first(kind: Kind, words: Words, differences: pd.DataFrame | None) -> list[Sentence]:
    """Compare the entropy from the first token with that from all tokens in the last layer, as the paper does."""
    first, every = kind.cell("entropy_cls", kind.layers), kind.cell("entropy", kind.layers)
    gap = compared(
        differences,
        kind=kind.name, layer=kind.layers, head=None, statistic="entropy_cls", than_statistic="entropy",
    )  # fmt: skip
    if gap is None or gap.verdict == "untested" or not first.exists:
        return []
    start = f"in the last layer{kind.of_kind}"
    nearest = min(abs(gap.low), abs(gap.high))
    distance = f"{abs(gap.difference):.2f} nats (95% interval {nearest:.2f} to {gap.bound:.2f})"
    broadly = "broadly than average, by"
    claim = {
        "less": f"{words.cls} attends less {broadly} {distance} of entropy",
        "more": f"{words.cls} attends more {broadly} {distance} of entropy",
        "same": f"no difference in entropy larger than {gap.bound:.2f} nats is seen between {words.cls} and the "
        "average token",
    }[gap.verdict]
    value, ends = measured(first, "entropy_cls")
    other, other_ends = measured(every, "entropy", long=False)
    averages = f"the average entropy from {words.cls} is {value}{ends}, over all tokens {other}{other_ends}."
    return [sentence("focus", f"{start} {claim}."), sentence("focus", averages, goes_on=True)]
