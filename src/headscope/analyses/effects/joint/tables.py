"""The tables of heads removed together."""

from headscope.analyses.effects.tables import ESTIMATES
from headscope.statistics.tables.columns import FEW, FROM_ONE, POSITIVE, count, ends, estimate, number, text
from headscope.statistics.tables.table_schema import Column, TableSchema

EFFECT, RANDOM = "effect", "random"
ORDERS = (EFFECT, *ESTIMATES, "output_norm", "explained", "non_sink", RANDOM)
"""Orders in which heads are removed, the smallest value first; random orders are matched to the first order."""
AREA, LESS_RANDOM = "area", "less_random"
JOINT, TOTAL, R2_TOTAL, R2_LINEAR = SUMS = ("joint", "total", "r2_total", "r2_linear")
_NONE = "all sets cost the same, or effects of some heads are not known"

_ORDER = (
    text(
        "order",
        "by what heads go, the smallest first: `effect` on the loss, `attribution` and `gate` of the half of the "
        "documents that is not measured, `output_norm`, `explained` (its share) and `non_sink` of the text; `random`: "
        "heads of the same layers as `effect` takes",
        choices=ORDERS,
    ),
    Column(
        "draw",
        "which random order, from 1",
        "Int64",
        missing="an order that is not random, or the mean of all random ones",
        bounds=FROM_ONE,
    ),
)
JOINT_CURVES = TableSchema(
    name="joint_curves",
    meaning="How much loss is added as more and more heads are changed at once, in several orders.",
    columns=(
        *_ORDER,
        Column("n_removed", "how many heads are changed", "int64", unit="heads", bounds=POSITIVE),
        *estimate("value", "loss added, the mean over an input's targets, then over inputs", unit="nats"),
        count("n_inputs", "inputs"),
    ),
    key=("order", "draw", "n_removed"),
)
JOINT_AREAS = TableSchema(
    name="joint_areas",
    meaning="The area below each curve of added loss, over the share of the heads from 0 to 1.",
    columns=(
        *_ORDER,
        text(
            "measure",
            f"`{AREA}`; `{LESS_RANDOM}`: the area less that of the mean of the random orders",
            choices=(AREA, LESS_RANDOM),
        ),
        *estimate("value", "the area, or the difference of areas", unit="nats"),
        count("n_inputs", "inputs"),
    ),
    key=("order", "draw", "measure"),
)
JOINT_SUMS = TableSchema(
    name="joint_sums",
    meaning="How far the effects of single heads add up to what random sets of heads cost.",
    columns=(
        text(
            "measure",
            f"`{JOINT}`: the loss that a set adds, `{TOTAL}`: the sum of the effects of its heads, each the mean over "
            f"sets; `{R2_TOTAL}`: the share of the variance between sets that this sum tells, `{R2_LINEAR}`: the same "
            "of a linear model, of sets that it was not fitted to; at most 1, below 0 where the mean of all tells more",
            choices=SUMS,
        ),
        number("value", "the mean over sets, or the share", unit="nats or share", missing=_NONE),
        *ends("value", unit="nats or share", missing=f"{FEW}, {_NONE}"),
        Column("n_removed", "how many heads a set has", "int64", unit="heads", bounds=POSITIVE),
        count("n_sets", "sets of heads"),
        count("n_inputs", "inputs"),
    ),
    key=("measure",),
)
JOINT_TABLES = (JOINT_CURVES, JOINT_AREAS, JOINT_SUMS)
