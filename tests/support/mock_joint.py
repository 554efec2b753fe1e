"""Made-up losses of heads removed together: in the order of effects less than at random, by non-sink weight more."""

from headscope.analyses.effects.joint_sums import DRAWS, SETS, removed_numbers
from headscope.analyses.effects.tables import AREA, JOINT_AREAS, JOINT_CURVES, JOINT_SUMS, LESS_RANDOM, ORDERS, RANDOM
from support.measured import with_parts
from support.stand_ins import table_of

INPUTS = 24
TIMES = {
    "effect": 0.4,
    "attribution": 0.45,
    "gate": 0.5,
    "output_norm": 0.7,
    "explained": 0.95,
    "non_sink": 1.4,
    RANDOM: 1.0,
}
"""By how much an order's losses differ from those of random ones."""


def with_joint_effects(inputs, *, orders=ORDERS, intervals=True, total=0.4, r2=(0.2, 0.1, 0.3), loss="mlm"):
    """Return the run with its tables of heads removed together.

    Args:
        inputs: the run.
        orders: orders of removal that have curves.
        intervals: whether there are enough documents for intervals.
        total: sum of single effects in nats, where removing all heads costs 1.
        r2: R² of this sum, with the ends of its interval.
        loss: name of the loss.
    """
    heads = sum(part["layers"] * part["heads"] for part in inputs.manifest["kinds"])
    every = [(order, None) for order in orders] + [(RANDOM, draw) for draw in range(1, DRAWS + 1)]

    def row(order, draw, value, width, **more):
        ends = {"ci_low": value - width, "ci_high": value + width} if intervals else {}
        return {"order": order, "draw": draw, "value": value, **ends, "n_inputs": INPUTS, **more}

    points, areas = [], []
    for order, draw in every:
        times = TIMES[order] * (1 if draw is None else 0.8 + 0.02 * draw)
        for number in (0, *removed_numbers(heads)):
            share = number / heads
            value = 4.0 * share**3 * (times if share < 1 else 1)
            points.append(row(order, draw, value, 0.02 * share, n_removed=int(number)))
        areas.append(row(order, draw, times, 0.1, measure=AREA))
        areas.append(row(order, draw, times - 1, 0.1 if order != RANDOM else 0.0, measure=LESS_RANDOM))
    numbers = {
        "joint": (1.0, 0.95, 1.05),
        "total": (total, total - 0.05, total + 0.05),
        "r2_total": r2,
        "r2_linear": (0.6, 0.5, 0.7),
    }
    sums = [
        {"measure": name, "value": value, "n_removed": -(-heads // 4), "n_sets": SETS, "n_inputs": INPUTS}
        | ({"ci_low": low, "ci_high": high} if intervals else {})
        for name, (value, low, high) in numbers.items()
    ]
    facts = {"loss": loss, "loss_mean": 3.5, "segments": INPUTS, "targets": 9 * INPUTS, "passes": 145.0}
    manifest = {**inputs.manifest, "joint_effects": {**facts, "intervention": "zero"}}
    return with_parts(
        inputs,
        joint_curves=table_of(JOINT_CURVES, points),
        joint_areas=table_of(JOINT_AREAS, areas),
        joint_sums=table_of(JOINT_SUMS, sums),
        manifest=manifest,
    )
