"""Effects kept: what is lost when explanations replace attention, and heads that stand out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress

import matplotlib.figure
import numpy as np
import pandas as pd
from matplotlib.ticker import PercentFormatter

from headscope.analyses.effects.tables import ADDED, KEPT, UNIFORM
from headscope.analyses.explanation.looks import rows_of
from headscope.analyses.explanation.tables import TRAINED
from headscope.attention.head_id import head_label
from headscope.present.blocks import Row
from headscope.present.cells import Cell, cell_of, number, records
from headscope.present.claim_rules import above, below
from headscope.present.facts import Fact
from headscope.present.figures.axes import interval_bars
from headscope.present.figures.head_points import draw_points
from headscope.present.figures.style import LINE, SOFT, house_style, new_figure
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, numbered
from headscope.present.report_parts import Context, Drawing, Figure
from headscope.present.study import Study
from headscope.statistics.inference.significance import LEAST_LOSS

HALF = 0.5


@dataclass(frozen=True)
class Replaced:
    """Heads whose attention was replaced at once.

    Attributes:
        kind: kind of attention; None where all heads of the model were replaced.
        layer: layer, from 1; None where all heads of the model were replaced.
        head: head, from 1; None where all heads of the layer were replaced.
        cells: numbers by measure.
    """

    kind: str | None
    layer: int | None
    head: int | None
    cells: Mapping[str, Cell]

    @property
    def label(self) -> str:
        """The label of the replaced heads: `2-8`, `layer 2` or `all heads`."""
        if self.layer is None:
            return "all heads"
        return f"layer {self.layer}" if self.head is None else head_label(self.layer, self.head)

    @property
    def kept(self) -> Cell:
        """The share of the effect that the explanation keeps."""
        return self.cells[KEPT]

    @property
    def effect(self) -> float:
        """The loss that uniform attention adds, nats."""
        return self.cells[UNIFORM].value


def replaced_of(table: pd.DataFrame | None) -> list[Replaced]:
    """Return the replacements in the order of the table: heads, layers, the model.

    Args:
        table: `tables/effect_kept.parquet`; None for a run without it.
    """
    cells: dict[tuple[str | None, int | None, int | None], dict[str, Cell]] = {}
    for row in records(table):
        kind, layer, head = (None if pd.isna(row[name]) else row[name] for name in ("kind", "layer", "head"))
        cells.setdefault((kind, layer, head), {})[row["measure"]] = cell_of(row, "value")
    return [Replaced(*name, of_name) for name, of_name in cells.items()]


def explained_shares(run: Study, kind: Kind) -> dict[tuple[int | None, int | None], float]:
    """Return the share of each head's attention that its explanation predicts, by layer and head.

    Args:
        run: study with the tables.
        kind: kind of attention.
    """
    rows = records(rows_of(run, kind, model=TRAINED).dropna(subset=["explained"]))
    return {(int(row["layer"]), int(row["head"])): number(row["explained"]) for row in rows}


def sure_heads(about: Context, kind: Kind) -> list[tuple[Replaced, float]]:
    """Return the heads of a kind whose effect kept has an interval, each with its explained share."""
    shares = explained_shares(about.run, kind)
    return [
        (each, shares[each.layer, each.head])
        for each in replaced_of(about.run.tables["effect_kept"])
        if each.kind == kind.name and each.kept.has_interval and (each.layer, each.head) in shares
    ]


class KeptFact(Fact):
    """A claim on replaced attention."""

    topic = "effect_kept"
    rank = 1


class NothingLost(KeptFact):
    """Uniform attention in every head is not shown to add loss."""


@dataclass(frozen=True, kw_only=True)
class ModelReplaced(KeptFact):
    """The loss that is added when all attention is replaced, nats, and the share of the effect that is kept.

    Attributes:
        uniform, explained, positions: added loss by the replacement.
        kept: share that explanations keep; None if its interval is wider than the whole effect, and says nothing.
    """

    uniform: float
    explained: float
    positions: float
    kept: Cell | None


@dataclass(frozen=True, kw_only=True)
class StandingOut(KeptFact):
    """Heads with over half of their attention explained and less than half of its effect kept.

    If `carrying` is true, they are those with the reverse.
    """

    kind: Kind
    heads: Sequence[HeadRef]
    carrying: bool


def kept_facts(about: Context) -> Iterator[Fact]:
    """Yield the loss with all attention replaced, and heads whose explanation predicts attention but not its effect."""
    every = replaced_of(about.run.tables.get("effect_kept"))
    for model in (each for each in every if each.layer is None):
        effect = model.cells[UNIFORM]
        if effect.has_interval and above([effect], least=LEAST_LOSS) == [False]:
            yield NothingLost()
        else:
            uniform, explained, positions = (model.cells[name].value for name in ADDED)
            known = model.kept.has_interval and model.kept.ci_high - model.kept.ci_low < 1
            kept = model.kept if known else None
            yield ModelReplaced(uniform=uniform, explained=explained, positions=positions, kept=kept)
    for kind in about.kinds if every else ():
        single = [each for each in every if each.kind == kind.name and each.head is not None]
        has_effect = above([each.cells[UNIFORM] for each in single], least=LEAST_LOSS)
        with_effect = {(each.layer, each.head) for each in compress(single, has_effect)}
        heads = [each for each in sure_heads(about, kind) if (each[0].layer, each[0].head) in with_effect]
        shares = [each.kept for each, _ in heads]
        idle = [each for each, share in compress(heads, below(shares, HALF)) if share > HALF]
        carrying = [each for each, share in compress(heads, above(shares, HALF)) if share < HALF]
        for chosen in (idle, carrying):
            if chosen:
                largest_first = sorted(chosen, key=lambda each: -each.effect)
                named = [numbered(kind.name, each.layer or 0, each.head or 0) for each in largest_first]
                yield StandingOut(kind=kind, heads=named, carrying=chosen is carrying)


def kept_rows(about: Context, kind: Kind) -> list[Row]:
    """Return the added loss of each replacement of a kind, layers first, and the effect that explanations keep."""
    of_kind = [each for each in replaced_of(about.run.tables.get("effect_kept")) if each.kind == kind.name]
    shares = explained_shares(about.run, kind) if of_kind else {}
    return [
        {
            **each.cells,
            "label": each.label,
            "kept": each.kept if each.kept.has_interval else None,
            "explained": shares.get((each.layer, each.head)),
        }
        for each in sorted(of_kind, key=lambda each: each.head is not None)
    ]


_LOWEST, _HIGHEST = -0.5, 1.25
"""The ends of the axis of effects kept; longer intervals are cut there."""


def draw_kept(about: Context, *_: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the figure of each kind of attention with a head whose effect kept has an interval.

    Args:
        about: report context of the run.
    """
    for kind in about.kinds:
        if heads := sure_heads(about, kind):
            yield kind.ending, partial(kept_figure, heads, kind=kind.name, roles=about.roles)


def kept_figure(
    heads: Sequence[tuple[Replaced, float]], *, kind: str, roles: pd.DataFrame | None
) -> matplotlib.figure.Figure:
    """Draw a point for each head at the explained share of its attention (x) and its effect kept (y).

    Args:
        heads: heads, each with its explained share.
        kind: `encoder`, `decoder` or `cross`.
        roles: table with the columns `kind layer head role`, for colors and shapes.
    """
    names = [(each.layer or 0, each.head or 0) for each, _ in heads]
    x = np.array([share for _, share in heads])
    y, low, high = (
        np.array([getattr(each.kept, name) for each, _ in heads]) for name in ("value", "ci_low", "ci_high")
    )
    with house_style():
        figure = new_figure(5.2, 4.2)
        ax = figure.subplots()
        left = min(0.0, float(np.floor(10 * x.min()) / 10))
        ax.set_xlim(left - 0.02, 1.02)
        bottom = max(_LOWEST, min(0.0, float(np.floor(10 * y.min()) / 10))) - 0.05
        ax.set_ylim(bottom, _HIGHEST)
        ax.plot([left, 1], [left, 1], color=LINE, linewidth=1.0, zorder=1, gid="rule")
        ax.axhline(1, color=LINE, linewidth=1.0, zorder=1)
        ends = np.maximum(low, bottom), np.minimum(high, _HIGHEST)
        interval_bars(ax, x, *ends, color=SOFT, width=1.0, alpha=0.6)
        inside = np.clip(y, bottom, _HIGHEST)
        draw_points(ax, names, x, inside, kind=kind, name="kept", roles=roles)
        ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
        ax.set_xlabel("attention explained")
        ax.set_ylabel("effect kept")
        return figure


FIGURE = Figure(name="figure-effect-kept", tables=("effect_kept", "explanation"), draw=draw_kept)
USES = (NothingLost, ModelReplaced, StandingOut, kept_rows)
