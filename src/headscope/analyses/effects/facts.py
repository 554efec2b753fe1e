"""Effects of heads: which heads the predictions depend on, one at a time, on logits, by estimates, and by measure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from math import nan
from typing import Any

import numpy as np
import pandas as pd

from headscope.analyses.effects import joint_facts as joint
from headscope.analyses.effects import kept_facts as kept
from headscope.analyses.effects.estimates import Judged, judged_of
from headscope.analyses.effects.figures import FIGURES
from headscope.analyses.effects.head_effects import (
    Agreement,
    HeadEffect,
    RankedApart,
    added_losses,
    agreements,
    effect_lines,
    measured_heads,
    ranked_apart,
)
from headscope.analyses.effects.sums import ATTRIBUTION, COMPENSATION, GATE, LOGIT
from headscope.analyses.effects.tables import NAMES, OVERLOOKED, SLOPE, WRONG_SIGNS
from headscope.attention.interventions.direct_effect import DIRECT
from headscope.present.blocks import Row
from headscope.present.cells import Cell, cell_of, number, records, rows_by_head
from headscope.present.claim_rules import above, below, leading, turned
from headscope.present.facts import Fact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, Shades, numbered
from headscope.present.numbers import q_words
from headscope.present.page import Page
from headscope.present.report_parts import Context
from headscope.statistics.inference.significance import LEAST_CORRELATION
from headscope.statistics.inference.significance import LEAST_LOSS as LEAST_LOSS

Effects = dict[tuple[int, int], dict[str, Cell]]
"""The effects of each head on logits, by measure."""


@dataclass(frozen=True, kw_only=True)
class Loss(Fact):
    """The loss of a stage; `measured` is the manifest's entry, with its mean and numbers of inputs."""

    stage: str
    measured: Mapping[str, Any]
    topic = "effects_loss"


@dataclass(frozen=True, kw_only=True)
class NotMeasured(Fact):
    """The reasons why effects on logits, copying by weights or estimates are not measured; empty where they are."""

    direct: str
    ov: str
    gradient: str
    topic = "effects_loss"


@dataclass(frozen=True, kw_only=True)
class EffectFact(Fact):
    """A claim on the added loss of single heads when each is changed by an intervention."""

    kind: Kind
    intervention: str
    topic = "effects"
    rank = 5


class Aside(EffectFact):
    """A claim that never appears on the first screen."""

    topic = "effects_aside"
    rank = 0


@dataclass(frozen=True, kw_only=True)
class SomeChanged(Aside):
    """Not all heads were changed, but `number` of `of`; `estimated` is true if estimates chose them."""

    number: int
    of: int
    estimated: bool


class Untested(Aside):
    """There are too few documents for intervals."""


@dataclass(frozen=True, kw_only=True)
class Largest(EffectFact):
    """The head whose change adds most loss; `leading` is true if it is shown to add more than any other."""

    head: HeadRef
    added: Cell
    leading: bool


@dataclass(frozen=True, kw_only=True)
class Changing(EffectFact):
    """The heads, of `of`, that change the loss; the numbers of those that do not, and of undecided ones."""

    heads: Sequence[HeadRef]
    of: int
    unchanged: int
    undecided: int


@dataclass(frozen=True, kw_only=True)
class Undecided(Aside):
    """No head is shown to change the loss, or not to change it."""

    of: int


@dataclass(frozen=True, kw_only=True)
class Falling(EffectFact):
    """The heads whose change lowers the loss."""

    heads: Sequence[HeadRef]


@dataclass(frozen=True, kw_only=True)
class LogitFact(Fact):
    """A claim on effects on logits, about `heads` of `of`, the clearest of which is `head`."""

    kind: Kind
    heads: Sequence[HeadRef]
    of: int
    head: HeadRef
    cells: Mapping[str, Cell]
    leading: bool = False
    topic = "logits"


class Copying(LogitFact):
    """The heads that raise the logit of the token that they look at most."""


class Suppressing(LogitFact):
    """The heads that lower it."""


class Repaired(LogitFact):
    """The heads that later layers make up for."""


class Needed(LogitFact):
    """The heads that later layers need."""


@dataclass(frozen=True, kw_only=True)
class EstimateFact(Fact):
    """A claim on first-order estimates."""

    kind: Kind
    topic = "effect_estimates"


@dataclass(frozen=True, kw_only=True)
class Recalled(EstimateFact):
    """The numbers of heads with the largest effects, of `of`, that each estimate puts into the top tenth."""

    of: int
    numbers: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class VerdictFact(EstimateFact):
    """A claim on a row of `effect_estimates.parquet`."""

    verdict: Cell


class Overlooked(VerdictFact):
    """The share of heads drawn from those with small gate estimates that change the loss."""


class WrongSigns(VerdictFact):
    """The share of heads that change the loss for which attribution has the wrong sign."""


class Slope(VerdictFact):
    """The slope of effects by attribution."""


@dataclass(frozen=True, kw_only=True)
class Missed(EstimateFact):
    """The heads with the largest effects that an estimate puts into its lower half; the effect of the first, nats."""

    estimate: str
    heads: Sequence[HeadRef]
    effect: float


@dataclass(frozen=True, kw_only=True)
class MeasureFact(Fact):
    """A claim on the agreement of measures of heads."""

    kind: Kind
    topic = "measures_compared"


@dataclass(frozen=True, kw_only=True)
class Nearest(MeasureFact):
    """The measure that ranks heads most like their effects on the loss; None if none is shown to rank them so."""

    best: Agreement | None
    leading: bool


@dataclass(frozen=True, kw_only=True)
class RanksApart(MeasureFact):
    """A head that two measures rank differently among `of` heads."""

    head: HeadRef
    ranks: RankedApart
    of: int


def effects_facts(about: Context) -> Iterator[Fact]:
    """Yield the claims on replaced attention, on single heads, several at once, logits, estimates and measures."""
    tables = about.run.tables
    for stage, name in (("effects", "effects"), ("joint_effects", "joint_curves"), ("effect_kept", "effect_kept")):
        if (measured := about.run.manifest.get(stage)) and name in tables and len(tables[name]):
            yield Loss(stage=stage, measured=measured)
    yield from kept.kept_facts(about)
    table, verdicts = (tables.get(name) for name in ("effects", "effect_estimates"))
    if table is not None and len(table):
        for kind in about.kinds:
            yield from _on_loss(kind, added_losses(table, kind.name), table)
            yield from _on_logits(table, kind)
            if verdicts is not None and len(verdicts):
                yield from _by_estimates(kind, judged_of(table, kind.name), verdicts)
        measured = about.run.manifest.get("effects", {})
        direct, ov, gradient = (measured.get(name) or "" for name in ("no_direct", "no_ov", "no_gradient"))
        yield NotMeasured(direct=direct, ov=ov, gradient=gradient)
    yield from joint.joint_facts(about)
    for kind in about.kinds if table is not None else ():
        yield from _by_measure(about, kind)


def _on_loss(kind: Kind, effects: Sequence[HeadEffect], table: pd.DataFrame) -> Iterator[EffectFact]:
    """Yield the heads that change the loss, the largest effect, and the heads whose change lowers the loss."""
    if not effects:
        return
    of: dict[str, Any] = {"kind": kind, "intervention": str(table["intervention"].iloc[0])}
    if len(effects) < kind.size:
        estimated = GATE in set(table["measure"])
        yield SomeChanged(**of, number=len(effects), of=kind.size, estimated=estimated)
    if not effects[0].added.has_interval:
        yield Untested(**of)
        return
    largest, changing = effects[0], [effect for effect in effects if effect.is_shown]
    added = [effect.added for effect in effects]
    if largest.is_shown and largest.added.value > 0:
        head = kind.head(largest.head.layer, largest.head.head)
        leads = bool(leading(added, least=0.0))
        yield Largest(**of, head=head, added=largest.added, leading=leads)
    unchanged = sum(low and high for low, high in zip(above(added, -LEAST_LOSS), below(added, LEAST_LOSS), strict=True))
    if not changing and not unchanged:
        yield Undecided(**of, of=len(effects), figure=Shades())
        return
    shade = kind.shaded({(effect.head.layer, effect.head.head): 1 for effect in changing}) if changing else Shades()
    yield Changing(
        **of, heads=[effect.head for effect in changing], of=len(effects), unchanged=unchanged,
        undecided=len(effects) - len(changing) - unchanged, figure=shade,
    )  # fmt: skip
    if better := [effect.head for effect in changing if effect.added.value < 0]:
        yield Falling(**of, heads=better[::-1])


def _on_logits(table: pd.DataFrame, kind: Kind) -> Iterator[Fact]:
    """Yield which heads copy or suppress the token they look at most, and which ones later layers make up for."""
    direct, copying = DIRECT
    measures = (LOGIT, direct, COMPENSATION, copying)
    rows = table[(table["kind"] == kind.name) & table["measure"].isin(measures) & table["ci_low"].notna()]
    effects = {
        head: {name: cell_of(row, "value") for (name,), row in cells.items()}
        for head, cells in rows_by_head(rows, "measure")
    }
    for form, measure, side, sign in (
        (Copying, copying, above, 1), (Suppressing, copying, below, -1),
        (Repaired, COMPENSATION, above, 1), (Needed, COMPENSATION, below, -1),
    ):  # fmt: skip
        known = {head: cells for head, cells in effects.items() if measure in cells}
        shown = list(compress(known, side([cells[measure] for cells in known.values()], least=LEAST_LOSS)))
        if form is Repaired:
            shown = list(compress(shown, above([known[head][direct] for head in shown], least=LEAST_LOSS)))
        if not shown:
            continue
        largest_first = sorted(shown, key=lambda head: -sign * known[head][measure].value)
        first = largest_first[0]
        ranked = [cells[measure] for head, cells in sorted(known.items(), key=lambda item: item[0] != first)]
        yield form(
            kind=kind, heads=[numbered(kind.name, *head) for head in largest_first], of=len(known),
            head=kind.head(*first), cells=known[first],
            leading=bool(leading(ranked if sign > 0 else [turned(cell) for cell in ranked], least=0.0)),
            figure=kind.shaded(dict.fromkeys(shown, 1)),
        )  # fmt: skip


def _by_estimates(kind: Kind, several: Sequence[Judged], verdicts: pd.DataFrame) -> Iterator[Fact]:
    """Yield the share of the largest effects that estimates find, their slope and signs, and heads that they miss."""
    if not several:
        return

    def verdict(estimate: str, measure: str) -> Cell | None:
        rows = verdicts[(verdicts["kind"] == kind.name) & verdicts["layer"].isna() & verdicts["value"].notna()]
        rows = rows[(rows["estimate"] == estimate) & (rows["measure"] == measure)]
        return next((cell_of(row, "value") for row in records(rows)), None)

    all_changed = several[0].drawn is None
    if all_changed and (large := int(several[0].is_large.sum())):
        yield Recalled(kind=kind, of=large, numbers={each.estimate: int(each.is_found.sum()) for each in several})
    if not all_changed and (share := verdict(GATE, OVERLOOKED)) is not None:
        yield Overlooked(kind=kind, verdict=share)
    if (share := verdict(ATTRIBUTION, WRONG_SIGNS)) is not None:
        yield WrongSigns(kind=kind, verdict=share)
    if (slope := verdict(ATTRIBUTION, SLOPE)) is not None and slope.has_interval:
        yield Slope(kind=kind, verdict=slope)
    for judged in several if all_changed else ():
        rows = np.flatnonzero(judged.is_missed)
        if len(rows):
            missed = [int(row) for row in rows[np.argsort(judged.rank[rows])]]
            heads = [numbered(kind.name, *judged.head(row)) for row in missed]
            heads = [kind.head(*judged.head(missed[0]))] if len(missed) == 1 else heads
            yield Missed(kind=kind, estimate=judged.estimate, heads=heads, effect=float(judged.effect[missed[0]]))


def _by_measure(about: Context, kind: Kind) -> Iterator[Fact]:
    """Yield the measure that ranks heads most like their effects, if two have an effect, and heads ranked apart."""
    heads = measured_heads(about.run, kind)
    if len(heads) and sum(each.is_shown for each in added_losses(about.run.tables["effects"], kind.name)) > 1:
        pairs = [pair for pair in agreements(heads) if "effect on the loss" in (pair.first, pair.second)]
        cells = [Cell(pair.rho, pair.ci_low, pair.ci_high, nan, 0) for pair in pairs]
        if any(cell.has_interval for cell in cells):
            shown = list(compress(pairs, above(cells, least=LEAST_CORRELATION)))
            leads = bool(leading(cells, least=0.0))
            yield Nearest(kind=kind, best=shown[0] if shown else None, leading=leads)
    for ranks in ranked_apart(about.run, kind):
        yield RanksApart(kind=kind, head=kind.head(ranks.layer, ranks.head), ranks=ranks, of=len(heads))


def head_rows(about: Context, kind: Kind) -> list[Row]:
    """Return every measure of each head of a kind, with the size of its effects by which tables are sorted."""
    table = about.run.tables.get("effects")
    if table is None:
        return []
    rows: list[Row] = []
    for head, cells in rows_by_head(table[table["kind"] == kind.name], "measure"):
        row: dict[str, Any] = {name: cell_of(of, "value") for (name,), of in cells.items()}
        row |= {f"{name}.q": q_words(number(of["q_value"])) for (name,), of in cells.items()}
        sizes = {f"{name}.size": abs(row[name].value) for name in ("loss", LOGIT) if name in row}
        rows.append({"head": numbered(kind.name, *head), **row, **sizes})
    return rows


def changed_rows(about: Context, kind: Kind) -> list[Row]:
    """Return the rows of the heads that were changed; the others have estimates alone."""
    return [row for row in head_rows(about, kind) if "loss" in row]


def scores(about: Context) -> list[str]:
    """Return the names of a user's scores."""
    table = about.run.tables.get("effects")
    return [] if table is None else [name for name in dict.fromkeys(table["measure"]) if name not in NAMES]


def estimate_rows(about: Context, kind: Kind) -> list[Row]:
    """Return the accuracy of estimates, for all heads and layer by layer."""
    rows: dict[int, dict[str, Any]] = {}
    for row in records(about.run.tables.get("effect_estimates")):
        if row["kind"] == kind.name:
            layer = 0 if pd.isna(row["layer"]) else int(row["layer"])
            rows.setdefault(layer, {})[f"{row['estimate']}.{row['measure']}"] = cell_of(row, "value")
    return [{"heads": f"layer {layer}" if layer else "all heads", **cells} for layer, cells in sorted(rows.items())]


PAGE = Page(
    __name__, effects_facts,
    uses=(
        *(joint.Removable, joint.Orders, joint.Adding, kept.NothingLost, kept.ModelReplaced, kept.StandingOut),
        *(head_rows, changed_rows, scores, estimate_rows, joint.joint_rows, joint.removed_columns, kept.kept_rows),
    ),
    figures=(*FIGURES, joint.FIGURE, kept.FIGURE),
)  # fmt: skip
PARTS = PAGE.parts(group="worth", explained=("effects", "joint_curves", "effect_kept"), card_lines=effect_lines)
