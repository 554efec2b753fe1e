"""The table of reach."""

from headscope.scans.declarations.head_measures import MeasureLabel
from headscope.statistics.tables.columns import FEW, HEAD, KIND, LAYER, NOT_NEGATIVE, count, ends
from headscope.statistics.tables.table_schema import Column, TableSchema

REACH = TableSchema(
    name="reach",
    meaning="How far away is the token that a head attends to the most.",
    columns=(
        KIND,
        LAYER,
        HEAD,
        Column(
            "value",
            "mean over rows, then over inputs, of the distance of the key with the largest weight",
            unit="tokens",
            bounds=NOT_NEGATIVE,
        ),
        *ends("value", unit="tokens", bounds=NOT_NEGATIVE, missing=FEW),
        count("n_inputs", "inputs"),
    ),
    key=("kind", "layer", "head"),
)

TABLES = (REACH,)
HEAD_LABELS = {(): MeasureLabel(label="distance of the strongest key", unit="tokens")}
