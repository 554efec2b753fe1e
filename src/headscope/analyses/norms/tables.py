"""The table of output norms."""

import pandas as pd

from headscope.encoding.vocabulary import KeyClass
from headscope.scans.declarations.head_measures import MeasureLabel
from headscope.statistics.tables.columns import HEAD_OR_MEAN, KIND, LAYER, NOT_NEGATIVE, count, estimate, text
from headscope.statistics.tables.table_schema import Column, TableSchema

INACTIVE_BELOW = 0.25
"""A head is inactive if the interval of its output norm is below this share of that of the layer's mean head."""
KEY_CLASSES = tuple(key_class.name.lower() for key_class in KeyClass)
OUTPUT, IN_LAYER, IN_STREAM, VALUE = STATISTICS = (
    "output_norm",
    "output_norm_in_layer",
    "output_norm_in_stream",
    "value_norm",
)
_UNIT = "length of a vector of the stream, or a ratio of two where relative"
_NEVER = "no such key, or no output projection is known"

NORMS = TableSchema(
    name="norms",
    meaning="The output norm of every head, also relative to the layer's mean and to the layer's input, and the "
    "norms of its transformed values by class of key.",
    columns=(
        KIND,
        LAYER,
        HEAD_OR_MEAN,
        text("statistic", "what is measured", choices=STATISTICS),
        text("key_class", "class of the token written of", choices=KEY_CLASSES, missing="of all that a row writes"),
        *estimate(
            "value",
            "mean over rows of an input (each key once for `value_norm`), then over inputs",
            unit=_UNIT, missing=_NEVER, bounds=NOT_NEGATIVE,
        ),
        count("n_inputs", "inputs"),
        Column(
            "inactive",
            f"whether `{IN_LAYER}` lies below {INACTIVE_BELOW:g}, the whole interval, at a false discovery rate of 5% "
            "over the heads",
            "boolean",
            missing="another statistic, or not tested",
        ),
    ),
    key=("kind", "layer", "head", "statistic", "key_class"),
)  # fmt: skip

TABLES = (NORMS,)


def _is_traced(heads: pd.DataFrame) -> bool:
    """Return True if outputs are added to the stream unchanged, which a comparison across layers requires."""
    known = heads[heads["key_class"].isna() & heads["value"].notna()]
    layers = [
        set(known.loc[known["statistic"] == name, ["kind", "layer"]].itertuples(index=False, name=None))
        for name in (OUTPUT, IN_STREAM)
    ]
    return layers[0] <= layers[1]


HEAD_LABELS = {
    (OUTPUT, None): MeasureLabel(label="output", unit="units of length", comparable=_is_traced),
    (IN_LAYER, None): MeasureLabel(label="output against the layer", unit="times its mean head"),
    (IN_STREAM, None): MeasureLabel(label="output against the stream", unit="times the norm of the layer's input"),
}
