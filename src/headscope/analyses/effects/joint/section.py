"""Heads removed together in the report: a figure, and a table of every order."""

from __future__ import annotations

from functools import partial

from headscope.analyses.effects.joint.figure import draw_joint
from headscope.analyses.effects.joint.findings import TOPIC
from headscope.analyses.effects.joint.rows import Curve, curves_in
from headscope.analyses.effects.loss_line import loss_line
from headscope.analyses.effects.nats import nats_cell
from headscope.report_kit.captions import caption, captioned
from headscope.report_kit.links import file_link, linked
from headscope.report_kit.numbers import DASH, ends
from headscope.report_kit.pictures.drawing import placed
from headscope.report_kit.report_parts import Context, Figure, Section, section
from headscope.report_kit.tables.page_rows import Table
from headscope.views.markup import Html, el

WHY = (
    "Heads that do the same make up for each other, so that each alone costs little and both together much. Here more "
    "and more heads are changed at once, the least important first by several measures."
)
CAPTION = (
    "A panel is a measure by which heads are ordered, the smallest first. To the right more heads are changed at "
    "once; upwards is the loss that is added, with its 95% interval. Gray: the mean and the range of 20 random orders "
    "that take heads of the same layers as the effect on the loss does. The axis is linear next to 0 and logarithmic "
    "beyond."
)
TERMS = (
    ("Removed together", "heads that are changed in one pass, each as it is alone. By their effect and its "
     "estimates they are ordered on the half of the documents that is not measured, both ways; by other measures on "
     "the whole text"),
    ("Add up", "how much of the variance of the loss between random sets of a quarter of the heads is told by the sum "
     "of their single effects on the same documents, and by a linear model of which heads are gone, on sets that it "
     "was not fitted to"),
)  # fmt: skip
FIGURE = Figure(name="figure-joint-effects", tables=("joint_curves", "joint_areas"), draw=draw_joint)


def joint_section(about: Context) -> list[Section]:
    """Build the section; none where the run removed no heads together."""
    curves, areas = (about.run.tables.get(name) for name in FIGURE.tables)
    if curves is None or areas is None or not len(curves):
        return []
    label = "The loss that is added as more heads are removed, in several orders; the table below has the numbers."
    blocks: list[Html | None] = [
        *linked(about.findings_on(TOPIC)),
        captioned(
            el("div", placed(about, FIGURE, label), class_="panels"),
            caption(CAPTION),
            caption(loss_line(about.run.manifest, "joint_effects")),
            file_link(about, FIGURE.name, "This figure"),
        ),
        curve_table(curves_in(curves, areas)).html(),
    ]
    return section("joint-effects", "How many heads can go?", WHY, blocks)


def curve_table(curves: list[Curve]) -> Table:
    """Tabulate the added loss of every order by the number of heads removed, and the area below it."""
    numbers = [number for number in curves[0].points if number]
    return Table(
        summary="Table: the loss that is added without several heads, in nats",
        groups=(("", 1), ("heads removed", len(numbers)), ("area below", 1), ("against random", 2)),
        header=("order", *(f"{number:,}" for number in numbers), "nats", "nats", "95% interval"),
        rows=tuple((curve.label, *curve_cells(curve)) for curve in curves),
        name="table-joint-effects",
    )


def curve_cells(curve: Curve, *, missing: str = DASH) -> tuple[str, ...]:
    """Return the numbers of an order as text: added losses, the area, and its difference from random orders.

    Args:
        curve: curve of the order.
        missing: replacement for a missing number; `HYPHEN` for a terminal.
    """
    write = partial(nats_cell, missing=missing)
    less = curve.less_random
    return (
        *(write(cell.value) for number, cell in curve.points.items() if number),
        write(curve.area.value),
        write(less.value),
        ends(less, write, between=" to ", missing=missing),
    )
