"""The table of effects."""

from headscope.analyses.effects.accumulator import ATTRIBUTION, COMPENSATION, DIVERGENCE, GATE, LOGIT, LOSS, OV_COPYING
from headscope.attention.interventions.direct_effect import DIRECT
from headscope.declarations.head_measures import MeasureLabel
from headscope.encoding.choices import INTERVENTIONS
from headscope.statistics.tables.columns import FEW, HEAD, KIND, LAYER, Q_VALUE, count, ends, number, text
from headscope.statistics.tables.table_schema import TableSchema

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
            "`attribution`: the first-order estimate of `loss` by the gradient of what the head writes; `gate`: the "
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
