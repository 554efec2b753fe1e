"""The tables of gradient importance."""

from headscope.analyses.importance.accumulator import KEY_CLASSES, MEASURES
from headscope.declarations.head_measures import MeasureLabel
from headscope.statistics.tables.columns import (
    FEW,
    HEAD_OR_MEAN,
    KIND,
    LAYER,
    POSITIVE,
    count,
    difference,
    ends,
    text,
)
from headscope.statistics.tables.table_schema import Column, TableSchema

TITLES = {
    "gradient": "Gradient of the loss by the weight",
    "weight_times_gradient": "Weight × gradient",
}
UNITS = {"gradient": "nats per unit of weight", "weight_times_gradient": "nats"}
CLASS_NAMES = {"cls": "{cls}", "sep": "{sep}", "period_comma": "periods and commas", "other": "other tokens"}
_UNIT = "nats per unit of weight, or nats where weight times gradient"
_NEVER = "no such key"
_OF = (
    KIND,
    LAYER,
    HEAD_OR_MEAN,
    text("measure", "the gradient's size, or that of weight times gradient", choices=MEASURES),
    text("key_class", "class of the token attended to", choices=KEY_CLASSES),
)
_KEY = ("kind", "layer", "head", "measure", "key_class")

IMPORTANCE = TableSchema(
    name="importance",
    meaning="How much the loss depends on every head's attention to each class of token.",
    columns=(
        *_OF,
        Column(
            "value",
            "mean over pairs of query and key, then over inputs",
            unit=_UNIT,
            missing=_NEVER,
            bounds=POSITIVE,
        ),
        *ends("value", unit=_UNIT, bounds=POSITIVE, missing=f"{_NEVER}, or {FEW}"),
        count("n_inputs", "inputs"),
    ),
    key=_KEY,
)

IMPORTANCE_DIFFERENCES = TableSchema(
    name="importance_differences",
    meaning="Importance of each class less that of `other` over the same documents, for the mean over a layer's heads.",
    columns=(
        *_OF,
        *difference("the class less `other`", unit=_UNIT, missing=_NEVER),
        count("n_inputs", "inputs"),
    ),
    key=_KEY,
)

TABLES = (IMPORTANCE, IMPORTANCE_DIFFERENCES)

HEAD_LABELS = {
    (measure, key_class): MeasureLabel(label=TITLES[measure], description=name, unit=UNITS[measure])
    for measure in MEASURES
    for key_class, name in CLASS_NAMES.items()
}
