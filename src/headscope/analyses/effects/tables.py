"""The tables of effects, of their estimates, of heads removed together, and of effects that explanations keep."""

from headscope.attention.interventions.direct_effect import DIRECT
from headscope.encoding.choices import INTERVENTIONS
from headscope.scans.declarations.head_measures import SHARE, MeasureLabel
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import LEAST_LOSS
from headscope.statistics.tables.columns import (
    FEW,
    FROM_ONE,
    HEAD,
    KIND,
    LAYER,
    NOT_NEGATIVE,
    Q_VALUE,
    count,
    ends,
    estimate,
    number,
    text,
)
from headscope.statistics.tables.table_schema import Column, TableSchema

LOSS, DIVERGENCE = "loss", "kl"
ATTRIBUTION, GATE = "attribution", "gate"
"""First-order estimates of the added loss: of the intervention on the head, and the absolute one for zero output."""
LOGIT, COMPENSATION, OV_COPYING = "logit", "compensation", "ov_copying"
"""The loss of the right token's logit without a head; the head's direct effect minus this loss; and the copying score
computed from weights alone."""
_UNIT = "nats, units of a logit, a ratio, or that of a user's score"
_NO_ENDS = f"{FEW}, or of weights alone"
ESTIMATES = (ATTRIBUTION, GATE)
"""First-order estimates of the added loss, for models that give a gradient."""
ON_LOGITS = (LOGIT, DIRECT[0], COMPENSATION, DIRECT[1], OV_COPYING)
"""Effects on logits, for decoders that compute logits from the residual stream by a norm and a matrix."""
NAMES = (LOSS, DIVERGENCE, *ESTIMATES, *ON_LOGITS)
"""All measures except a user's score, whose measure has the name of its function."""

EFFECTS = TableSchema(
    name="effects",
    meaning="Change of the model's predictions when a single head is changed.",
    columns=(
        *(KIND, LAYER, HEAD),
        text("intervention", "intervention on the head, the same in all rows", choices=INTERVENTIONS),
        text(
            "measure",
            "`loss`: the loss that is added; `kl`: how far the predictions diverge, at the same targets; "
            "`attribution`: the first-order estimate of `loss` by the gradient of the head's output; `gate`: the "
            "size, of each input, of that estimate for a head that writes nothing; `logit`: what "
            "the right token's logit, above the mean of all, loses; `direct`: what the head by itself adds to it; "
            "`compensation`: `direct` less `logit`, where the head wrote nothing; `copying`: what the head by itself "
            "adds to the logit of the token that it looks at most, sinks left out; `ov_copying`: sum of real parts of "
            "eigenvalues of the head's weights between tokens over that of their moduli, from -1 to 1; any other: how "
            "much a user's score of that name changes",
            choices=NAMES,
            others=True,
        ),
        number("value", "mean over an input's targets, then over inputs", unit=_UNIT),
        *ends("value", unit=_UNIT, missing=_NO_ENDS),
        Q_VALUE,
        count("n_inputs", "inputs"),
    ),
    key=("kind", "layer", "head", "measure"),
)

HEAD_LABELS = {
    (LOSS,): MeasureLabel(label="effect on the loss", unit="nats"),
    (DIVERGENCE,): MeasureLabel(label="effect on predictions, KL", unit="nats"),
    (ATTRIBUTION,): MeasureLabel(label="attribution, the effect to first order", unit="nats"),
    (GATE,): MeasureLabel(label="gate estimate on the same inputs", unit="nats"),
    (LOGIT,): MeasureLabel(label="effect on the logit", unit="units of a logit"),
    (DIRECT[0],): MeasureLabel(label="direct effect on the logit", unit="units of a logit"),
    (COMPENSATION,): MeasureLabel(label="compensation by later layers", unit="units of a logit"),
    (DIRECT[1],): MeasureLabel(label="copying (above 0) or suppression", unit="units of a logit"),
    (OV_COPYING,): MeasureLabel(label="copying by its weights alone", unit="ratio, from -1 to 1"),
}


RECALL, MISSED, SLOPE, WRONG_SIGNS = ("recall", "missed", "slope", "wrong_signs")
"""Shares of the largest effects that an estimate finds and misses, slope of effects by estimates, and share of wrong
signs."""
OVERLOOKED = "overlooked"
"""Share of heads with an effect among heads drawn from those with small estimates."""
VERDICTS = (RECALL, MISSED, SLOPE, WRONG_SIGNS, OVERLOOKED)
_RATIO = "share, or nats of effect by nats of estimate"
_NONE = "no such head, or a slope where fewer than two heads have an effect or all estimates are the same"

EFFECT_ESTIMATES = TableSchema(
    name="effect_estimates",
    meaning="How well first-order estimates of the added loss do, judged by the exact effects on the same inputs.",
    columns=(
        KIND,
        Column("layer", "layer within its kind, from 1", "Int64", missing="all layers", bounds=FROM_ONE),
        text("estimate", "estimate that is evaluated, a measure of `effects`", choices=(ATTRIBUTION, GATE)),
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
        number("value", "over the heads", unit=_RATIO, missing=_NONE),
        *ends("value", unit=_RATIO, missing=f"{_NONE}, or fewer than {FEWEST_DOCUMENTS} heads"),
        count("n_heads", "heads"),
    ),
    key=("kind", "layer", "estimate", "measure"),
)

TABLES = (EFFECTS, EFFECT_ESTIMATES)


EFFECT, RANDOM = "effect", "random"
ORDERS = (EFFECT, *ESTIMATES, "output_norm", "explained", "non_sink", RANDOM)
"""Orders in which heads are removed, the smallest value first; random orders are matched to the first order."""
AREA, LESS_RANDOM = "area", "less_random"
JOINT, TOTAL, R2_TOTAL, R2_LINEAR = SUMS = ("joint", "total", "r2_total", "r2_linear")
_UNKNOWN = "all sets cost the same, or effects of some heads are not known"

_ORDER = (
    text(
        "order",
        "measure by which heads are removed, the smallest first: `effect` on the loss, `attribution` and `gate` "
        "from the other half of the documents, `output_norm`, `explained` (share) and `non_sink` from the text; "
        "`random`: random heads of the same layers as the order by `effect`",
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
        Column("n_removed", "number of heads that are changed", "int64", unit="heads", bounds=NOT_NEGATIVE),
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
    meaning="Additivity: the effects of single heads against the effects of random sets of heads.",
    columns=(
        text(
            "measure",
            f"`{JOINT}`: the loss that a set adds, `{TOTAL}`: the sum of the effects of its heads, each the mean over "
            f"sets; `{R2_TOTAL}`: the share of the variance between sets that this sum tells, `{R2_LINEAR}`: the same "
            "of a linear model, of sets that it was not fitted to; at most 1, below 0 where the mean of all tells more",
            choices=SUMS,
        ),
        number("value", "the mean over sets, or the share", unit="nats or share", missing=_UNKNOWN),
        *ends("value", unit="nats or share", missing=f"{FEW}, {_UNKNOWN}"),
        Column("n_removed", "number of heads in a set", "int64", unit="heads", bounds=NOT_NEGATIVE),
        count("n_sets", "sets of heads"),
        count("n_inputs", "inputs"),
    ),
    key=("measure",),
)
JOINT_TABLES = (JOINT_CURVES, JOINT_AREAS, JOINT_SUMS)


UNIFORM, EXPLAINED, POSITIONS = ADDED = ("added_uniform", "added_explained", "added_positions")
"""The added loss with uniform attention, with the explanation, and with the explanation from positions alone."""
KEPT, OVER_POSITIONS = SHARES = ("kept", "over_positions")
"""The share of the added loss of uniform attention, and of positions alone, that explanations avoid."""
_UNSURE = "the interval of the divisor is not above 0"

EFFECT_KEPT = TableSchema(
    name="effect_kept",
    meaning="What is lost when attention is replaced while values stay: of a head, of all heads of a layer, and "
    "of all heads of the model, as fitted to the half of the documents that an input is not in.",
    columns=(
        Column("kind", KIND.meaning, "text", missing="all heads of the model", choices=KIND.choices),
        Column("layer", "layer within its kind, from 1", "Int64", missing="all heads of the model", bounds=FROM_ONE),
        Column("head", "head in its layer, from 1", "Int64", missing="all heads of the layer", bounds=FROM_ONE),
        text(
            "measure",
            "`added_uniform`, `added_explained`, `added_positions`: the loss added with uniform attention, with "
            "the prediction of the explanation, by positions alone; `kept`: (added_uniform - added_explained) / "
            "added_uniform; `over_positions`: the same with positions alone in place of uniform attention",
            choices=(*ADDED, *SHARES),
        ),
        number("value", "mean over an input's targets, then over inputs", unit="nats or share", missing=_UNSURE),
        *ends("value", unit="nats or share", missing=f"{FEW}, or {_UNSURE}"),
        count("n_inputs", "inputs"),
    ),
    key=("kind", "layer", "head", "measure"),
)
KEPT_TABLES = (EFFECT_KEPT,)

KEPT_LABELS = {
    (UNIFORM,): MeasureLabel(label="effect of its attention on the loss", unit="nats"),
    (EXPLAINED,): MeasureLabel(label="loss added by its explanation", unit="nats"),
    (POSITIONS,): MeasureLabel(label="loss added by positions alone", unit="nats"),
    (KEPT,): MeasureLabel(label="effect kept by its explanation", unit=SHARE),
    (OVER_POSITIONS,): MeasureLabel(label="effect kept over positions alone", unit=SHARE),
}
