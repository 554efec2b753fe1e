"""The tables of effects, and of first-order estimates compared with them."""

from headscope.analyses.effects.sums import ATTRIBUTION, COMPENSATION, DIVERGENCE, GATE, LOGIT, LOSS, OV_COPYING
from headscope.attention.interventions.direct_effect import DIRECT
from headscope.declarations.head_measures import MeasureLabel
from headscope.encoding.choices import INTERVENTIONS
from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.significance import LEAST_LOSS
from headscope.statistics.tables.columns import FEW, FROM_ONE, HEAD, KIND, LAYER, Q_VALUE, count, ends, number, text
from headscope.statistics.tables.table_schema import Column, TableSchema

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
    meaning="How much the model's predictions change when one head is changed, all others as they are.",
    columns=(
        *(KIND, LAYER, HEAD),
        text("intervention", "what is done to the head, the same in all rows", choices=INTERVENTIONS),
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
        number("value", "over the heads", unit=_RATIO, missing=_NONE),
        *ends("value", unit=_RATIO, missing=f"{_NONE}, or fewer than {FEWEST_DOCUMENTS} heads"),
        count("n_heads", "heads"),
    ),
    key=("kind", "layer", "estimate", "measure"),
)

TABLES = (EFFECTS, EFFECT_ESTIMATES)
