"""The table of the effects of attention that explanations keep."""

from headscope.declarations.head_measures import SHARE, MeasureLabel
from headscope.statistics.tables.columns import FEW, FROM_ONE, KIND, count, ends, number, text
from headscope.statistics.tables.table_schema import Column, TableSchema

UNIFORM, EXPLAINED, POSITIONS = ADDED = ("added_uniform", "added_explained", "added_positions")
"""The added loss with uniform attention, with the explanation, and with the explanation from positions alone."""
KEPT, OVER_POSITIONS = SHARES = ("kept", "over_positions")
"""The share of the added loss of uniform attention, and of positions alone, that explanations avoid."""
MEASURES = (*ADDED, *SHARES)
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
            choices=MEASURES,
        ),
        number("value", "mean over an input's targets, then over inputs", unit="nats or share", missing=_UNSURE),
        *ends("value", unit="nats or share", missing=f"{FEW}, or {_UNSURE}"),
        count("n_inputs", "inputs"),
    ),
    key=("kind", "layer", "head", "measure"),
)
KEPT_TABLES = (EFFECT_KEPT,)

HEAD_LABELS = {
    (UNIFORM,): MeasureLabel(label="effect of its attention on the loss", unit="nats"),
    (EXPLAINED,): MeasureLabel(label="loss added by its explanation", unit="nats"),
    (POSITIONS,): MeasureLabel(label="loss added by positions alone", unit="nats"),
    (KEPT,): MeasureLabel(label="effect kept by its explanation", unit=SHARE),
    (OVER_POSITIONS,): MeasureLabel(label="effect kept over positions alone", unit=SHARE),
}
