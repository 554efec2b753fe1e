"""Where heads look: large shares of attention, the separator's attention to itself, focus, and the number of roles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress
from math import floor
from typing import Any

import pandas as pd
from scipy.stats import hypergeom

from headscope.analyses.stats.norm_roles import (
    NormRoles,
    Roles,
    card_lines,
    norm_facts,
    norm_rows,
    norms_known,
    roles_fact,
)
from headscope.analyses.stats.page_rows import (
    FIGURES,
    example_panels,
    example_rows,
    is_papers_model,
    kinds_with,
    layer_columns,
    layer_rows,
    panels,
    paper_rows,
    papers_source,
    role_rows,
)
from headscope.present.cells import Cell
from headscope.present.claim_rules import (
    Comparison,
    Verdict,
    above,
    below,
    comparisons,
    layers_standing_out,
    standing_out,
    verdicts,
)
from headscope.present.facts import Fact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, numbered
from headscope.present.page import Page
from headscope.present.report_parts import Context
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS as FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import LARGE_SHARE, LEAST_ENTROPY, LEAST_SHARE, SIGNIFICANT
from headscope.statistics.roles import BROAD_RATIO
from headscope.statistics.statistic_catalog import STATISTICS as STATISTICS

BEHAVIORS = ("previous", "next", "current", "cls", "sep", "period_comma")
"""The shares of which none is large if no head stands out."""
SPECIAL = ("cls", "sep", "period_comma", "sink_logit")
NARROW_RATIO = 0.5
"""Share of the entropy of uniform attention below which a head is narrowly focused."""


@dataclass(frozen=True, kw_only=True)
class NothingStandsOut(Fact):
    """No head has a large share.

    Attributes:
        tested: True if the shares have intervals.
        largest: the share with the highest upper end.
        bar: the percent above that end, as a share.
        special: the special tokens among the targets.
    """

    tested: bool
    largest: Cell
    bar: float
    special: Sequence[str]
    topic = "none"
    rank = 10


@dataclass(frozen=True, kw_only=True)
class LargeShare(Fact):
    """A target of much attention: `heads` give it over half, or else `head` gives it the largest share, `share`."""

    statistic: str
    heads: Sequence[HeadRef] = ()
    head: HeadRef | None = None
    share: Cell | None = None
    above_all: bool = False


class PositionShare(LargeShare):
    """Much attention to a neighboring token; `above_all` is true if no other head gives it as much."""

    topic = "position"
    rank = 20
    decoder_rank = 4


@dataclass(frozen=True, kw_only=True)
class LittleToCurrent(Fact):
    """Every head gives its token less than the share `bar`."""

    bar: float
    topic = "position"


class SpecialShare(LargeShare):
    """Much attention to a special token, punctuation or a learned sink."""

    topic = "special"
    rank = 60
    decoder_rank = 3


@dataclass(frozen=True, kw_only=True)
class SpecialLayers(Fact):
    """The layers in which a target gets much attention.

    Attributes:
        statistic: the share of the target.
        layers: the layers.
        means: their means, the smallest first.
        uniform: the mean share under uniform attention.
        floor: a share below all intervals; None without intervals.
    """

    statistic: str
    layers: list[int]
    means: Sequence[Cell]
    uniform: float
    floor: float | None
    topic = "special"


@dataclass(frozen=True, kw_only=True)
class SepToSep(Fact):
    """The layers in which separators give separators more or less attention than other tokens do, or as much.

    `gap` is the difference in `layer`, the largest of those.
    """

    verdict: Verdict
    layers: list[int]
    layer: int
    gap: Comparison
    topic = "noop"
    rank = 100


class FocusFact(Fact):
    """A claim on the entropy of heads."""

    topic = "focus"
    rank = 90


@dataclass(frozen=True, kw_only=True)
class Broad(FocusFact):
    """The number of broad heads, the layer of most of them if that is no chance, and those without a large weight."""

    heads: int
    layer: int | None
    in_layer: int
    light: int


@dataclass(frozen=True, kw_only=True)
class Narrow(FocusFact):
    """The most narrowly focused head; `alone` is true if no head has a large share nevertheless."""

    head: HeadRef
    entropy: Cell
    alone: bool


@dataclass(frozen=True, kw_only=True)
class FirstToken(FocusFact):
    """The absolute difference of the last layer's entropy from the first token to that from all tokens."""

    verdict: Verdict
    gap: Comparison


def stats_facts(about: Context) -> Iterator[Fact]:
    """Yield the claims on statistics and roles, kind by kind; none for a run without statistics."""
    if "stats" not in about.run.tables:
        return
    gaps = about.run.tables.get("stats_differences")
    nothing = not any(standing_out(kind, name) for kind in about.kinds for name in BEHAVIORS)
    if nothing:
        yield from _nothing_stands_out(about.kinds)
    for kind in about.kinds:
        yield from _positions(kind, gaps)
        yield from _special(kind)
        yield from _sep_to_sep(kind, gaps)
        yield from _focus(kind, nothing_stands_out=nothing)
        yield from _first_token(kind, about.kinds, gaps)
        yield roles_fact(kind)
        yield from norm_facts(about.run, kind)


def _nothing_stands_out(kinds: Sequence[Kind]) -> Iterator[Fact]:
    every = [cell for kind in kinds for name in BEHAVIORS for _, _, cell in kind.each(name)]
    if every:
        largest = max(every, key=lambda cell: cell.high)
        yield NothingStandsOut(
            tested=any(cell.has_interval for cell in every),
            largest=largest,
            bar=(floor(100 * largest.high) + 1) / 100,
            special=[name for name in ("cls", "sep") if any(kind.occurs(name) for kind in kinds)],
        )


def _positions(kind: Kind, gaps: pd.DataFrame | None) -> Iterator[Fact]:
    """Yield the heads that attend to neighboring tokens, and that no head attends to its own token."""
    first = _above_all_others(gaps, documents=kind.documents)
    for name in ("previous", "next"):
        yield from _strongest(PositionShare, kind, name, first)
    for name in ("previous", "next"):
        yield from _over_half(PositionShare, kind, name, fewest=2)
    current = [cell for _, _, cell in kind.each("current")]
    highest = max((cell.high for cell in current), default=LARGE_SHARE)
    if highest < LARGE_SHARE and all(cell.has_interval for cell in current):
        bar = next(step for step in (0.05, 0.1, 0.15, 0.2, 0.25) if highest < step)
        yield LittleToCurrent(kind=kind, bar=bar, figure=kind.shades("current"))


def _above_all_others(gaps: pd.DataFrame | None, *, documents: int) -> set[tuple[Any, ...]]:
    """Return (kind, layer, head, statistic) of the heads whose share is shown to exceed that of every other head."""
    every = [(row, gap) for row, gap in comparisons(gaps) if not pd.isna(row["head"])]
    sides = verdicts([gap for _, gap in every], least=LEAST_SHARE, documents=documents)
    columns = ("kind", "layer", "head", "statistic")
    return {tuple(row[name] for name in columns) for (row, _), side in zip(every, sides, strict=True) if side == "more"}


def _strongest(
    fact: type[LargeShare], kind: Kind, statistic: str, first: Collection[tuple[Any, ...]] = ()
) -> Iterator[Fact]:
    """Yield the head with the largest share, where that stands out; `first` are the heads above all others."""
    if large := standing_out(kind, statistic):
        layer, head, cell = max(large, key=lambda item: item[2].value)
        above_all = (kind.name, layer, head, statistic) in first
        yield fact(kind=kind, statistic=statistic, head=kind.head(layer, head), share=cell, above_all=above_all)


def _over_half(fact: type[LargeShare], kind: Kind, statistic: str, *, fewest: int) -> list[Fact]:
    """Return the heads whose share is shown to lie above one half, if there are enough of them."""
    every = list(kind.each(statistic))
    over = list(compress(every, above([cell for _, _, cell in every], 0.5, documents=kind.documents)))
    if len(over) < fewest:
        return []
    heads = [numbered(kind.name, layer, head) for layer, head, _ in sorted(over, key=lambda item: -item[2].value)]
    return [fact(kind=kind, statistic=statistic, heads=heads, figure=kind.shades(statistic))]


def _special(kind: Kind) -> Iterator[Fact]:
    """Yield the layers and heads with much attention to special tokens, punctuation or a learned sink."""
    layers_of = {name: layers for name in SPECIAL if (layers := layers_standing_out(kind, name))}
    for name, layers in sorted(layers_of.items(), key=lambda item: -max(mean.value for _, mean in item[1])):
        means = sorted((mean for _, mean in layers), key=lambda mean: mean.value)
        lowest = floor(100 * min(mean.low for mean in means)) / 100
        yield SpecialLayers(
            kind=kind, statistic=name, layers=[layer for layer, _ in layers], means=means, figure=kind.shades(name),
            uniform=sum(mean.uniform for mean in means) / len(means),
            floor=lowest if all(mean.has_interval for mean in means) else None,
        )  # fmt: skip
    for name in SPECIAL:
        yield from _over_half(SpecialShare, kind, name, fewest=1) or _strongest(SpecialShare, kind, name)


def _sep_to_sep(kind: Kind, gaps: pd.DataFrame | None) -> Iterator[Fact]:
    """Yield the layers in which separators give separators more attention than other tokens do, less, or as much."""
    every = comparisons(gaps, head=None, statistic="sep_to_sep", than_statistic="other_to_sep")
    layers: dict[Verdict, dict[int, Comparison]] = {"more": {}, "less": {}, "same": {}, "untested": {}}
    for layer, gap, side in _judged(every, kind, least=LEAST_SHARE):
        layers[side][layer] = gap
    for verdict in ("more", "less", "same"):
        sizes = {each: gap.bound if verdict == "same" else gap.difference for each, gap in layers[verdict].items()}
        if sizes:
            layer = max(sizes, key=sizes.__getitem__)
            yield SepToSep(
                kind=kind, verdict=verdict, layers=sorted(sizes), layer=layer, gap=layers[verdict][layer],
                figure=kind.shades("sep_to_sep"),
            )  # fmt: skip


def _judged(
    every: Sequence[tuple[dict[str, Any], Comparison]], kind: Kind, *, least: float
) -> Iterator[tuple[int, Comparison, Verdict]]:
    """Yield layer, difference and verdict of the comparisons of one kind of attention, tested with the other kinds'."""
    sides = verdicts([gap for _, gap in every], least=least, documents=kind.documents)
    for (row, gap), side in zip(every, sides, strict=True):
        if row["kind"] == kind.name:
            yield int(row["layer"]), gap, side


def _focus(kind: Kind, *, nothing_stands_out: bool) -> Iterator[Fact]:
    """Yield the broad heads and the most narrowly focused head: entropies that are shown to lie beyond a threshold."""
    tested = [each for each in kind.each("entropy") if each[2].uniform > 0 and each[2].has_interval]
    cells = [cell for *_, cell in tested]
    is_broad = above(cells, [BROAD_RATIO * cell.uniform for cell in cells], documents=kind.documents)
    if broad := [(layer, head) for layer, head, _ in compress(tested, is_broad)]:
        layer, most = Counter(layer for layer, _ in broad).most_common(1)[0]
        # Null hypothesis: the broad heads are drawn at random from all heads; any layer could have most of them.
        chance = kind.layers * hypergeom.sf(most - 1, kind.size, len(broad), kind.heads_per_layer)
        weights = [kind.cell("max_weight", *head) for head in broad]
        yield Broad(
            kind=kind, heads=len(broad), layer=layer if most > len(broad) / 2 and chance < SIGNIFICANT else None,
            in_layer=most, light=sum(below(weights, 0.1, documents=kind.documents)) if len(broad) > 1 else 0,
            figure=kind.shades("entropy", of_uniform=True),
        )  # fmt: skip
    is_narrow = below(cells, [NARROW_RATIO * cell.uniform for cell in cells], documents=kind.documents)
    least = min(compress(tested, is_narrow), key=lambda item: item[2].value, default=None)
    if least is not None:
        layer, head, cell = least
        yield Narrow(kind=kind, head=kind.head(layer, head), entropy=cell, alone=nothing_stands_out)


def _first_token(kind: Kind, kinds: Sequence[Kind], gaps: pd.DataFrame | None) -> Iterator[Fact]:
    """Compare the entropy from the first token with that from all tokens in the last layer, as the paper does."""
    last = {each.name: each.layers for each in kinds}
    every = comparisons(gaps, head=None, statistic="entropy_cls", than_statistic="entropy")
    every = [(row, gap) for row, gap in every if row["layer"] == last.get(row["kind"])]
    for _, gap, side in _judged(every, kind, least=LEAST_ENTROPY):
        if side != "untested":
            size, figure = gap if gap.difference > 0 else gap.turned(), kind.shades("entropy_cls", of_uniform=True)
            yield FirstToken(kind=kind, verdict=side, gap=size, figure=figure)


PAGE = Page(
    __name__, stats_facts,
    uses=(
        *(Roles, NormRoles),
        *(norm_rows, norms_known, example_panels, kinds_with, panels, layer_rows),
        *(layer_columns, role_rows, example_rows, paper_rows, is_papers_model, papers_source),
    ),
)  # fmt: skip
PARTS = PAGE.parts(
    group="where", figures=FIGURES, closing=PAGE.closing, cards=lambda run, kind: {"written": card_lines(run, kind)}
)
