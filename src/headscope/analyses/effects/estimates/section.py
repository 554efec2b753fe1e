"""First-order estimates in the report: a figure with exact effects, and a table of their accuracy by layer."""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan

import pandas as pd

from headscope.analyses.effects.accumulator import ATTRIBUTION, GATE
from headscope.analyses.effects.estimates.figure import draw_estimates
from headscope.analyses.effects.estimates.findings import TOPIC
from headscope.analyses.effects.estimates.tables import MISSED, OVERLOOKED, RECALL, SLOPE, WRONG_SIGNS
from headscope.analyses.effects.kind_panel import kind_panel
from headscope.report_kit.kinds import Kind
from headscope.report_kit.numbers import DASH, joined, two_decimals
from headscope.report_kit.report_parts import Context, Figure, Section, section
from headscope.report_kit.tables.cells import Cell, cell_of, records
from headscope.report_kit.tables.page_rows import Table
from headscope.views.markup import Html

WHY = (
    "A gradient estimates the effects of all heads in two passes, where exact effects take one a head. Where it is "
    "right, it stands for them in a larger model."
)
CAPTION = (
    "A point is a head, in its role’s color and shape: the estimate of the loss that is added by its gradient, and "
    "the loss that is added. On the dashed diagonal both are the same; in the upper left and lower right quarter the "
    "estimate has the wrong sign. Axes are linear next to 0 and logarithmic beyond. Click a point to open its card."
)
TERMS = (
    ("Attribution", "the first-order estimate of an effect (attribution patching): the gradient of the loss by what a "
     "head writes, times what it would write less what it writes, summed over rows; signed, from one backward pass"),
    ("Recall, missed", "of the tenth of all heads with the largest effects: how many are in the tenth with the largest "
     "estimates, and how many are in the half with the smallest"),
    ("Overlooked", "where not all heads were changed: of heads drawn from those with smaller gate estimates, how many "
     "change the loss by 0.01 nats or more"),
    ("Slope of effects", "the median over pairs of heads of the difference in effect by that in the estimate "
     "(Theil 1950), with Sen’s (1968) interval over heads; 1 where estimates are as large as effects"),
)  # fmt: skip
FIGURE = Figure(name="figure-effect-estimates", tables=("effects",), draw=draw_estimates)
_GROUPS = {ATTRIBUTION: (RECALL, MISSED, WRONG_SIGNS, SLOPE), GATE: (RECALL, MISSED, OVERLOOKED, SLOPE)}
_HEADERS = {
    RECALL: ("recall",),
    MISSED: ("missed",),
    WRONG_SIGNS: ("wrong sign",),
    OVERLOOKED: ("overlooked",),
    SLOPE: ("slope", "95% interval"),
}


def estimates_section(about: Context) -> list[Section]:
    """Build the section; none where the run has no estimates."""
    table = about.run.tables.get("effect_estimates")
    if table is None or not len(table):
        return []
    blocks: list[Html | None] = []
    for kind in about.kinds:
        label = f"The estimate and the exact effect of each {kind.name} head; the table below says how well they agree."
        if panel := kind_panel(about, kind, FIGURE, topic=TOPIC, label=label, text=CAPTION):
            blocks += [*panel, verdict_table(table, kind).html()]
    return section("effect-estimates", "Can an estimate stand for the effect?", WHY, blocks)


def verdict_table(table: pd.DataFrame, kind: Kind) -> Table:
    """Tabulate the accuracy of estimates, for all heads and layer by layer.

    Args:
        table: `tables/effect_estimates.parquet`.
        kind: kind of attention.
    """
    of_kind = table[table["kind"] == kind.name]
    cells = {
        (None if pd.isna(row["layer"]) else int(row["layer"]), row["estimate"], row["measure"]): cell_of(row, "value")
        for row in records(of_kind)
    }
    estimates = [name for name in _GROUPS if name in set(of_kind["estimate"])]
    groups = {name: [each for each in _GROUPS[name] if (None, name, each) in cells] for name in estimates}
    layers = [None, *sorted({layer for layer, *_ in cells if layer is not None})]
    rows = []
    for layer in layers:
        row = ["all heads" if layer is None else f"layer {layer}"]
        for name in estimates:
            for measure in groups[name]:
                row += _texts(measure, cells[layer, name, measure])
        rows.append(tuple(row))
    headers = {name: [each for measure in groups[name] for each in _HEADERS[measure]] for name in estimates}
    titles = {ATTRIBUTION: "attribution", GATE: "gate estimate"}
    return Table(
        summary=f"Table: what estimates find of the largest effects, and how they err{kind.in_brackets}",
        groups=(("", 1), *((titles[name], len(headers[name])) for name in estimates)),
        header=("heads", *(each for name in estimates for each in headers[name])),
        rows=tuple(rows),
        name=f"table-effect-estimates-{kind.name}",
    )


def _texts(measure: str, cell: Cell) -> Iterator[str]:
    """Yield a share as `2 of 4`, a slope with its interval."""
    if measure == SLOPE:
        yield two_decimals(cell.value)
        yield joined(cell.ci_low, cell.ci_high, two_decimals, between=" to ", missing=DASH)
    else:
        yield DASH if isnan(cell.value) else f"{round(cell.value * cell.n)} of {cell.n}"
