"""The table of effects."""

from headscope.attention.interventions.outcome import MEASURES
from headscope.declarations.head_measures import MeasureLabel
from headscope.encoding.choices import INTERVENTIONS
from headscope.statistics.tables.columns import FEW, HEAD, KIND, LAYER, Q_VALUE, count, ends, number, text
from headscope.statistics.tables.table_schema import TableSchema

EFFECTS = TableSchema(
    name="effects",
    meaning="How much the model's predictions change when one head is changed, all others as they are.",
    columns=(
        *(KIND, LAYER, HEAD),
        text("intervention", "what is done to the head, the same in all rows", choices=INTERVENTIONS),
        text(
            "measure",
            "`loss`: the loss that is added; `kl`: how far the predictions diverge, at the same targets",
            choices=MEASURES,
        ),
        number("value", "mean over an input's targets, then over inputs", unit="nats"),
        *ends("value", unit="nats", missing=FEW),
        Q_VALUE,
        count("n_inputs", "inputs"),
    ),
    key=("kind", "layer", "head", "measure"),
)
TABLES = (EFFECTS,)

HEAD_LABELS = {
    ("loss",): MeasureLabel(label="effect on the loss", unit="nats"),
    ("kl",): MeasureLabel(label="effect on predictions, KL", unit="nats"),
}
