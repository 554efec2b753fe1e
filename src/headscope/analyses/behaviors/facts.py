"""Behaviors: how much of its attention the head chosen for each pays to it, and which behaviors no head shows.

Facts and rows are the same in text and in experiments.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan

import pandas as pd

from headscope.analyses.behaviors.catalog import BEHAVIORS, SHARES
from headscope.analyses.behaviors.catalog import NATURAL as NATURAL
from headscope.analyses.behaviors.chosen import (
    IN_TEXT,
    BehaviorHead,
    behavior_scores,
    chosen_heads,
    heads_of,
    tables_of,
)
from headscope.analyses.behaviors.grids import grid_figure, grids
from headscope.analyses.behaviors.tables import RULE as RULE
from headscope.present.blocks import Row
from headscope.present.cells import records
from headscope.present.facts import Fact
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, Shades, numbered
from headscope.present.numbers import percent
from headscope.present.page import Page
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.words import capital
from headscope.statistics.tables.frames import MEASURES

_FORMS = {"share": ("%", "share"), "tokens": ("tokens", "tenths")}
COLUMNS = {
    "": {
        "head": ("head", "head"),
        **{f"{each.label}, {_FORMS[each.unit][0]}": (each.name, _FORMS[each.unit][1]) for each in BEHAVIORS.values()},
    }
}
"""The columns of the table of every head."""


@dataclass(frozen=True, kw_only=True)
class BehaviorFact(Fact):
    """A claim on the heads of a kind, in text or `within` an experiment."""

    kind: Kind
    topic = "behaviors"
    rank = 65


@dataclass(frozen=True, kw_only=True)
class ChosenAttention(BehaviorFact):
    """The attention of the head chosen for a behavior to its keys; the table below has its baselines."""

    chosen: BehaviorHead
    head: HeadRef


@dataclass(frozen=True, kw_only=True)
class Absent(BehaviorFact):
    """The behaviors that no head shows."""

    behaviors: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Untested(BehaviorFact):
    """The behaviors for which there are too few documents."""

    behaviors: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class NotByNorm(BehaviorFact):
    """The number of behaviors that heads show by weight but not by norm-weighted attention, `of_weight` by weight.

    `label` is the behavior with the most such heads, `heads`, of the `showing` heads that show it by weight; `others`
    is the number for the other behaviors.
    """

    number: int
    of_weight: int
    label: str
    heads: Sequence[HeadRef]
    showing: int
    others: int


def behavior_facts(about: Context, kind: Kind, experiment: str = "") -> Iterator[Fact]:
    """Yield the behaviors of the heads of a kind; nothing where they were not measured."""
    chosen = chosen_heads(about.run, kind.name, experiment)
    for each in chosen:
        if each.heads:
            yield ChosenAttention(kind=kind, within=experiment, chosen=each, head=kind.head(each.layer, each.head))
    if absent := [each.behavior.name for each in chosen if each.tested and not each.heads]:
        yield Absent(kind=kind, within=experiment, behaviors=absent, figure=Shades())
    if untested := [each.behavior.name for each in chosen if not each.tested]:
        yield Untested(kind=kind, within=experiment, behaviors=untested)
    if known := [each for each in chosen if each.by_norm is not None and each.heads]:
        most = max(known, key=lambda each: len(each.not_by_norm))
        number = sum(len(each.not_by_norm) for each in known)
        yield NotByNorm(
            kind=kind, within=experiment, number=number, of_weight=sum(len(each.heads) for each in known),
            label=most.behavior.label, heads=[numbered(kind.name, *head) for head in most.not_by_norm],
            showing=len(most.heads), others=number - len(most.not_by_norm),
            figure=kind.shaded({head: 1 for each in known for head in each.heads}),
        )  # fmt: skip


def text_facts(about: Context) -> Iterator[Fact]:
    """Yield the behaviors of the heads of each kind in text."""
    for kind in about.kinds:
        yield from behavior_facts(about, kind)


def has_norms(about: Context, kind: Kind, experiment: str = "") -> bool:
    """Return True if the norm-weighted attention of chosen heads is known."""
    return any(each.by_norm is not None for each in chosen_heads(about.run, kind.name, experiment))


def best_rows(about: Context, kind: Kind, experiment: str = "") -> list[Row]:
    """Return the head chosen for each behavior, with its baselines."""
    return [
        {
            "behavior": (capital(each.behavior.name), each.behavior.label),
            "head": (kind.labeled_head(each.layer, each.head), f"selected {_often(each.share)}"),
            "tokens" if each.behavior.counts_tokens else "attention": (each.estimate, False),
            **{name: getattr(each, name) for name in ("by_norm", "control", "all_documents", "held_out")},
            "uniform": each.estimate.uniform,
            "heads": f"{len(each.heads):,} of {each.n_heads:,}" if each.tested else "not tested",
            "n": each.estimate.n,
        }
        for each in chosen_heads(about.run, kind.name, experiment)
    ]


def _often(share: float) -> str:
    return "on all documents" if isnan(share) else f"in {percent(share, 0)} of splits"


def norm_rows(about: Context, kind: Kind, experiment: str = "") -> list[Row]:
    """Return the heads that show a behavior by weight but not by norm-weighted attention, with both shares."""
    heads, keys = tables_of(about.run, experiment)[0], ["behavior", "layer", "head"]
    values = {name: heads_of(heads, kind.name, name).set_index(keys)["value"] for name in MEASURES}
    return [
        {
            "head": kind.labeled_head(*head),
            "shows": capital(each.behavior.label),
            **{name: shares[each.behavior.name, *head] for name, shares in values.items()},
        }
        for each in chosen_heads(about.run, kind.name, experiment)
        for head in each.not_by_norm
    ]


def head_rows(about: Context, kind: Kind, experiment: str = "") -> list[Row]:
    """Return every head's share of attention, or number of tokens, for each behavior."""
    heads, _ = tables_of(about.run, experiment)
    wide = heads_of(heads, kind.name).pivot(index=["layer", "head"], columns="behavior", values="value")
    largest = wide[[name for name in wide if name in SHARES]].max(axis=1)
    rows = records(wide.assign(largest=largest).reset_index())
    return [{**row, "head": kind.labeled_head(row["layer"], row["head"])} for row in rows]


def _copy_examples(run: Study) -> pd.DataFrame | None:
    table = run.tables.get("copy_examples")
    if table is None:
        return None
    behaviors = [BEHAVIORS[str(name)] for name in table["behavior"]]
    return table.assign(role=[each.role for each in behaviors], on=[each.on for each in behaviors])


ROWS = (best_rows, norm_rows, head_rows, has_norms, grids)
PAGE = Page(__name__, text_facts, uses=ROWS, macros=__package__)
PARTS = PAGE.parts(
    figures=(grid_figure(),),
    group="what",
    explained=("behaviors",),
    functions=partial(behavior_scores, functions=IN_TEXT),
    behavior_examples=_copy_examples,
    known_functions=tuple(IN_TEXT.values()),
    needed={"behaviors": ("behaviors", "run headscope report again")},
)
