"""Effects of heads: which heads the predictions depend on, one at a time and on logits; and the analysis's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import pandas as pd

from headscope.analyses.effects import estimate_facts as estimates
from headscope.analyses.effects import head_effects
from headscope.analyses.effects import joint_facts as joint
from headscope.analyses.effects import kept_facts as kept
from headscope.analyses.effects import measure_facts as measures
from headscope.analyses.effects.joint_facts import ADDING as ADDING
from headscope.analyses.effects.tables import COMPENSATION, GATE, LOGIT, LOSS, NAMES
from headscope.attention.interventions.direct_effect import DIRECT
from headscope.present.blocks import Row
from headscope.present.cells import Cell, cell_of, number, rows_by_head
from headscope.present.claim_rules import above, below, leading, turned
from headscope.present.facts import Fact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, Shades, numbered
from headscope.present.numbers import q_words
from headscope.present.page import Page
from headscope.present.report_parts import Context
from headscope.statistics.inference.significance import LEAST_LOSS as LEAST_LOSS


@dataclass(frozen=True, kw_only=True)
class Loss(Fact):
    """The loss of a stage; `measured` is the manifest's entry, with its mean and numbers of inputs."""

    stage: str
    measured: Mapping[str, Any]
    topic = "effects_loss"


@dataclass(frozen=True, kw_only=True)
class NotMeasured(Fact):
    """The manifest's entry, with the reasons for missing effects on logits, copying by weights or estimates."""

    measured: Mapping[str, Any]
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


def effects_facts(about: Context) -> Iterator[Fact]:
    """Yield the claims on replaced attention, on single heads, several at once, logits, estimates and measures."""
    tables, manifest = about.run.tables, about.run.manifest
    for stage, name in (("effects", "effects"), ("joint_effects", "joint_curves"), ("effect_kept", "effect_kept")):
        if stage in manifest and len(tables.get(name, ())):
            yield Loss(stage=stage, measured=manifest[stage])
    yield from kept.kept_facts(about)
    table = tables.get("effects")
    if table is not None:
        for kind in about.kinds:
            yield from _on_loss(kind, table)
            yield from _on_logits(kind, table)
            yield from estimates.estimate_facts(about, kind, table)
        yield NotMeasured(measured=manifest.get("effects", {}))
    yield from joint.joint_facts(about)
    yield from measures.measure_facts(about)


def _on_loss(kind: Kind, table: pd.DataFrame) -> Iterator[EffectFact]:
    """Yield the heads that change the loss, the largest effect, and the heads whose change lowers the loss."""
    effects = head_effects.added_losses(table, kind.name)
    if not effects:
        return
    of: dict[str, Any] = {"kind": kind, "intervention": str(table["intervention"].iloc[0])}
    if len(effects) < kind.size:
        yield SomeChanged(**of, number=len(effects), of=kind.size, estimated=GATE in set(table["measure"]))
    largest, added = effects[0], [effect.added for effect in effects]
    if not largest.added.has_interval:
        yield Untested(**of)
        return
    if largest.is_shown and largest.added.value > 0:
        head = kind.head(largest.head.layer, largest.head.head)
        yield Largest(**of, head=head, added=largest.added, leading=bool(leading(added, least=0.0)))
    changing = [effect for effect in effects if effect.is_shown]
    unchanged = sum(map(all, zip(above(added, -LEAST_LOSS), below(added, LEAST_LOSS), strict=True)))
    if not changing and not unchanged:
        yield Undecided(**of, of=len(effects), figure=Shades())
        return
    yield Changing(
        **of, heads=[effect.head for effect in changing], of=len(effects), unchanged=unchanged,
        undecided=len(effects) - len(changing) - unchanged,
        figure=kind.shaded({(effect.head.layer, effect.head.head): 1 for effect in changing}) if changing else Shades(),
    )  # fmt: skip
    if better := [effect.head for effect in changing if effect.added.value < 0]:
        yield Falling(**of, heads=better[::-1])


def _on_logits(kind: Kind, table: pd.DataFrame) -> Iterator[Fact]:
    """Yield which heads copy or suppress the token they look at most, and which ones later layers make up for."""
    direct, copying = DIRECT
    by_head = head_effects.cells_by_head(table[table["ci_low"].notna()], kind)
    for form, measure, side, sign in (
        (Copying, copying, above, 1), (Suppressing, copying, below, -1),
        (Repaired, COMPENSATION, above, 1), (Needed, COMPENSATION, below, -1),
    ):  # fmt: skip
        known = {head: cells for head, cells in by_head.items() if measure in cells}
        shown = list(compress(known, side([cells[measure] for cells in known.values()], least=LEAST_LOSS)))
        if form is Repaired:
            shown = list(compress(shown, above([known[head][direct] for head in shown], least=LEAST_LOSS)))
        if not shown:
            continue
        largest_first = sorted(shown, key=lambda head: -sign * known[head][measure].value)
        first = largest_first[0]
        ranked = [known[head][measure] for head in (first, *(head for head in known if head != first))]
        yield form(
            kind=kind, heads=[numbered(kind.name, *head) for head in largest_first], of=len(known),
            head=kind.head(*first), cells=known[first],
            leading=bool(leading(ranked if sign > 0 else [turned(cell) for cell in ranked], least=0.0)),
            figure=kind.shaded(dict.fromkeys(shown, 1)),
        )  # fmt: skip


def head_rows(about: Context, kind: Kind) -> list[Row]:
    """Return every measure of each head of a kind, with the size of its effects by which tables are sorted."""
    table = about.run.tables.get("effects")
    if table is None:
        return []
    rows: list[Row] = []
    for head, cells in rows_by_head(table[table["kind"] == kind.name], "measure"):
        row: dict[str, Any] = {name: cell_of(of, "value") for (name,), of in cells.items()}
        row |= {f"{name}.q": q_words(number(of["q_value"])) for (name,), of in cells.items()}
        row |= {f"{name}.size": abs(row[name].value) for name in (LOSS, LOGIT) if name in row}
        rows.append({"head": numbered(kind.name, *head), **row})
    return rows


def changed_rows(about: Context, kind: Kind) -> list[Row]:
    """Return the rows of the heads that were changed; the others have estimates alone."""
    return [row for row in head_rows(about, kind) if LOSS in row]


def scores(about: Context) -> list[str]:
    """Return the names of a user's scores."""
    table = about.run.tables.get("effects")
    return [] if table is None else [name for name in dict.fromkeys(table["measure"]) if name not in NAMES]


PAGE = Page(
    __name__, effects_facts,
    uses=(head_rows, changed_rows, scores, *estimates.USES, *measures.USES, *joint.USES, *kept.USES),
    figures=(head_effects.FIGURE, estimates.FIGURE, measures.FIGURE, joint.FIGURE, kept.FIGURE),
)  # fmt: skip
PARTS = PAGE.parts(
    group="worth", explained=("effects", "joint_curves", "effect_kept"), card_lines=head_effects.effect_lines
)
