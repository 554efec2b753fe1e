"""The tables of statistics."""

from dataclasses import replace
from typing import Any

from headscope.scans.declarations.head_measures import MeasureLabel
from headscope.scans.examples.example_tables import EXAMPLES, TOP_EXAMPLES
from headscope.statistics.statistic import Unit
from headscope.statistics.statistic_catalog import NAMES, STATISTICS
from headscope.statistics.tables.columns import (
    FROM_ONE,
    HEAD_OR_MEAN,
    KIND,
    LAYER,
    SHARE,
    count,
    difference,
    estimate,
    text,
)
from headscope.statistics.tables.frames import MEASURES
from headscope.statistics.tables.table_schema import Column, TableSchema

_UNIT = "share, or nats where entropy"
_ENTROPIES = tuple(statistic.name for statistic in STATISTICS.values() if statistic.unit == Unit.NATS)
_MOSTLY_SHARES: Any = {"unit": _UNIT, "bounds": SHARE, "unless": ("statistic", _ENTROPIES)}
_NEVER = "it cannot occur"

STATS = TableSchema(
    name="stats",
    meaning="The attention of every head in text without annotation: each statistic, with its value for uniform "
    "attention.",
    columns=(
        KIND,
        LAYER,
        HEAD_OR_MEAN,
        text(
            "measure",
            "attention weight (`weight`), or norm-weighted attention (`norm`: the weight times the norm of the token's "
            "transformed value, each row divided by its sum); no rows of `norm` where norms are not known",
            choices=MEASURES,
        ),
        text("statistic", "what is measured", choices=NAMES),
        *estimate("value", "mean over rows of an input, then over inputs", missing=_NEVER, **_MOSTLY_SHARES),
        Column("uniform", "value of uniform attention over the visible keys", missing=_NEVER, **_MOSTLY_SHARES),
        count("n_inputs", "inputs"),
    ),
    key=("kind", "layer", "head", "measure", "statistic"),
)

STATS_DIFFERENCES = TableSchema(
    name="stats_differences",
    meaning="Differences of statistics on the same documents: in each layer, attention to sep from sep minus from "
    "other rows, and entropy from cls minus that of all rows; and the head with the largest share on the previous "
    "or next token minus the second largest.",
    columns=(
        KIND,
        LAYER,
        HEAD_OR_MEAN,
        text("statistic", "what is measured", choices=NAMES),
        Column("than_layer", "layer of the head that it is compared with", "int64", bounds=FROM_ONE),
        replace(HEAD_OR_MEAN, name="than_head", meaning="head that it is compared with"),
        text("than_statistic", "statistic that it is compared with", choices=NAMES),
        *difference("the first minus the second", unit=_UNIT),
        count("n_inputs", "inputs"),
    ),
    key=("kind", "layer", "head", "statistic"),
)

TABLES = (STATS, STATS_DIFFERENCES, EXAMPLES, TOP_EXAMPLES)

HEAD_LABELS = {
    (statistic.name,): MeasureLabel(
        label=statistic.label, unit="share" if statistic.unit is Unit.SHARE else statistic.unit.value
    )
    for statistic in STATISTICS.values()
}
