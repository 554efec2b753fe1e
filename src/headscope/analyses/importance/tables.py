"""The tables of gradient importance."""

from collections.abc import Mapping

from headscope.scans.declarations.head_measures import MeasureLabel
from headscope.statistics.tables.columns import (
    HEAD_OR_MEAN,
    KIND,
    LAYER,
    NOT_NEGATIVE,
    count,
    difference,
    estimate,
    text,
)
from headscope.statistics.tables.table_schema import TableSchema

GATE = "gate"
KEY_CLASSES = ("cls", "sep", "period_comma", "other")
TITLES = {"gradient": "Gradient of the loss by the weight", "weight_times_gradient": "Weight × gradient"}
SHORT_TITLES = {"gradient": "gradient", "weight_times_gradient": "weight × gradient"}
UNITS = {"gradient": "nats per unit of weight", "weight_times_gradient": "nats"}
MEASURES = tuple(TITLES)
CLASS_NAMES = {"cls": "{cls}", "sep": "{sep}", "period_comma": "periods and commas", "other": "other tokens"}
_UNIT = "nats per unit of weight where gradient, else nats"
_NEVER = "no such key"
_HEAD = (KIND, LAYER, HEAD_OR_MEAN)
_OF_CLASS = "the gradient's size, or that of weight times gradient"
_CLASS = "class of the token attended to"
_KEY = ("kind", "layer", "head", "measure", "key_class")

IMPORTANCE = TableSchema(
    name="importance",
    meaning="How much the loss depends on every head's attention to each class of token.",
    columns=(
        *_HEAD,
        text(
            "measure",
            f"{_OF_CLASS}; `{GATE}`: the size of the loss's gradient by a gate on all that the head writes",
            choices=(*MEASURES, GATE),
        ),
        text("key_class", _CLASS, choices=KEY_CLASSES, missing=f"`{GATE}`, which is of all tokens"),
        *estimate(
            "value", "mean over pairs of query and key, then over inputs; of `gate` over inputs",
            unit=_UNIT, missing=_NEVER, bounds=NOT_NEGATIVE,
        ),
        count("n_inputs", "inputs"),
    ),
    key=_KEY,
)  # fmt: skip

IMPORTANCE_DIFFERENCES = TableSchema(
    name="importance_differences",
    meaning="Importance of each class minus that of `other`, over the same documents, averaged over a layer's heads.",
    columns=(
        *_HEAD,
        text("measure", _OF_CLASS, choices=MEASURES),
        text("key_class", _CLASS, choices=KEY_CLASSES),
        *difference("the class minus `other`", unit=_UNIT, missing=_NEVER),
        count("n_inputs", "inputs"),
    ),
    key=_KEY,
)

TABLES = (IMPORTANCE, IMPORTANCE_DIFFERENCES)

HEAD_LABELS: Mapping[tuple[str | None, ...], MeasureLabel] = {
    (GATE, None): MeasureLabel(label="Gate estimate", unit="nats"),
    **{
        (measure, key_class): MeasureLabel(label=TITLES[measure], description=name, unit=UNITS[measure])
        for measure in MEASURES
        for key_class, name in CLASS_NAMES.items()
    },
}
