"""The table of the accuracy of first-order estimates, compared with exact effects."""

from headscope.analyses.effects.accumulator import ATTRIBUTION, GATE
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.worth_saying import LEAST_LOSS
from headscope.statistics.tables.columns import FROM_ONE, KIND, count, ends, number, text
from headscope.statistics.tables.table_schema import Column, TableSchema

RECALL, MISSED, SLOPE, WRONG_SIGNS = ("recall", "missed", "slope", "wrong_signs")
"""Shares of the largest effects that an estimate finds and misses, slope of effects by estimates, and share of wrong
signs."""
OVERLOOKED = "overlooked"
"""Share of heads with an effect among heads drawn from those with small estimates."""
VERDICTS = (RECALL, MISSED, SLOPE, WRONG_SIGNS, OVERLOOKED)
_UNIT = "share, or nats of effect by nats of estimate"
_NONE = "no such head, or a slope where fewer than two heads have an effect or all estimates are the same"

EFFECT_ESTIMATES = TableSchema(
    name="effect_estimates",
    meaning="How well first-order estimates of the added loss do, judged by the exact effects on the same inputs.",
    columns=(
        KIND,
        Column("layer", "layer within its kind, from 1", "Int64", missing="all layers", bounds=FROM_ONE),
        text("estimate", "what is judged, a measure of `effects`", choices=(ATTRIBUTION, GATE)),
        text(
            "measure",
            f"Heads with an effect are those with {LEAST_LOSS:g} nats or more and a `q_value` below 0.05. `recall`: "
            "of those among the tenth of all heads with the largest effects, by size, the share that is among the "
            "tenth with the largest estimates; `missed`: the share of them that is in the half with the smallest "
            "estimates; `slope`: of effects by estimates, the median over pairs of heads (by size for `gate`), where "
            "two heads have an effect; `wrong_signs`: of heads with an effect, the share whose estimate has the other "
            "sign (`gate` has none). Where not all heads were changed there is no recall, and `overlooked`: of heads "
            "drawn from those with smaller gate estimates, the share with an effect",
            choices=VERDICTS,
        ),
        number("value", "over the heads", unit=_UNIT, missing=_NONE),
        *ends("value", unit=_UNIT, missing=f"{_NONE}, or fewer than {FEWEST_DOCUMENTS} heads"),
        count("n_heads", "heads"),
    ),
    key=("kind", "layer", "estimate", "measure"),
)
