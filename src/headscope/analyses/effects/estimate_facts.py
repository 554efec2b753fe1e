"""First-order estimates: how much of the exact effects they find, and how they err."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import matplotlib.figure
import numpy as np
import pandas as pd

from headscope.analyses.effects.estimates import judged_of
from headscope.analyses.effects.head_effects import LINEAR, nats_axis
from headscope.analyses.effects.tables import ATTRIBUTION, GATE, OVERLOOKED, SLOPE, WRONG_SIGNS
from headscope.present.blocks import Row
from headscope.present.cells import Cell, cell_of, records
from headscope.present.facts import Fact
from headscope.present.figures.head_points import draw_points
from headscope.present.figures.style import LEAST_MARK, LINE, house_style, new_figure
from headscope.present.kinds import Kind
from headscope.present.linked_sentences import HeadRef, numbered
from headscope.present.report_parts import Context, Drawing, Figure


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


def estimate_facts(about: Context, kind: Kind, effects: pd.DataFrame) -> Iterator[Fact]:
    """Yield the share of the largest effects that estimates find, their slope and signs, and heads that they miss.

    Args:
        about: report context of the run.
        kind: kind of attention.
        effects: `tables/effects.parquet`.
    """
    judged, verdicts = judged_of(effects, kind.name), about.run.tables.get("effect_estimates")
    if not judged or verdicts is None:
        return
    numbers = {estimate: int(heads["is_found"].sum()) for estimate, heads in judged.items()}
    all_changed = not any("is_drawn" in heads for heads in judged.values())
    large = int(next(iter(judged.values()))["is_large"].sum())
    if all_changed and large:
        yield Recalled(kind=kind, of=large, numbers=numbers)
    known = verdicts[(verdicts["kind"] == kind.name) & verdicts["layer"].isna() & verdicts["value"].notna()]
    for form, estimate, measure in (
        (Overlooked, GATE, OVERLOOKED), (WrongSigns, ATTRIBUTION, WRONG_SIGNS), (Slope, ATTRIBUTION, SLOPE),
    ):  # fmt: skip
        for row in records(known[(known["estimate"] == estimate) & (known["measure"] == measure)]):
            verdict = cell_of(row, "value")
            if form is not Slope or verdict.has_interval:
                yield form(kind=kind, verdict=verdict)
    for estimate, heads in judged.items() if all_changed else ():
        missed = heads.loc[heads["is_missed"], "effect"].sort_values(key=lambda size: -size.abs(), kind="stable")
        if len(missed):
            named = [numbered(kind.name, *head) for head in missed.index]
            one_or_more = [kind.head(*missed.index[0])] if len(missed) == 1 else named
            yield Missed(kind=kind, estimate=estimate, heads=one_or_more, effect=float(missed.iloc[0]))


def estimate_rows(about: Context, kind: Kind) -> list[Row]:
    """Return the accuracy of estimates, for all heads and layer by layer."""
    rows: dict[int, dict[str, Any]] = {}
    for row in records(about.run.tables.get("effect_estimates")):
        if row["kind"] == kind.name:
            layer = 0 if pd.isna(row["layer"]) else int(row["layer"])
            rows.setdefault(layer, {})[f"{row['estimate']}.{row['measure']}"] = cell_of(row, "value")
    return [{"heads": f"layer {layer}" if layer else "all heads", **cells} for layer, cells in sorted(rows.items())]


def draw_estimates(about: Context, table: pd.DataFrame) -> Iterator[tuple[str, Drawing]]:
    """Yield the figure of each kind of attention, for its first estimate.

    Args:
        about: report context of the run.
        table: `tables/effects.parquet`.
    """
    for kind in about.kinds:
        for estimate, judged in list(judged_of(table, kind.name).items())[:1]:
            yield kind.ending, partial(estimate_figure, judged, estimate, kind=kind.name, roles=about.roles)


def estimate_figure(
    judged: pd.DataFrame, estimate: str, *, kind: str, roles: pd.DataFrame | None
) -> matplotlib.figure.Figure:
    """Draw a point for each head at its estimate and its effect; on the diagonal both are the same.

    Args:
        judged: heads with effect and estimate, from `judged_of`.
        estimate: name of the estimate.
        kind: `encoder`, `decoder` or `cross`.
        roles: table with the columns `kind layer head role`, for colors and shapes.
    """
    x, y = judged["guess"].to_numpy(), judged["effect"].to_numpy()
    labels = "attribution, nats", "added loss, nats"
    if estimate == GATE:
        y, labels = np.abs(y), ("gate estimate, nats", "size of the added loss, nats")
    ends = [(1.3 * min(values.min(), -LINEAR), 1.3 * max(values.max(), 2 * LINEAR)) for values in (x, y)]
    with house_style():
        figure = new_figure(5.2, 4.2)
        ax = figure.subplots()
        # The same scale along both, so that the diagonal is a line.
        nats_axis(ax, "x")
        nats_axis(ax, "y")
        ax.set(xlim=ends[0], ylim=ends[1], xlabel=labels[0], ylabel=labels[1])
        ax.axhline(0, color=LINE, linewidth=1.0, zorder=1)
        ax.axvline(0, color=LINE, linewidth=1.0, zorder=1)
        both = np.array([max(low for low, _ in ends), min(high for _, high in ends)])
        ax.plot(both, both, color=LINE, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1, gid="rule")
        size = max(LEAST_MARK, min(46.0, 3000 / len(judged)))
        draw_points(ax, list(judged.index), x, y, kind=kind, name="estimates", roles=roles, s=size)
        return figure


FIGURE = Figure(name="figure-effect-estimates", tables=("effects",), draw=draw_estimates)
USES = (Recalled, Overlooked, WrongSigns, Slope, Missed, estimate_rows)
