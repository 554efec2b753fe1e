"""The tables of distributions over rows."""

from headscope.analyses.distribution.row_measures import MEASURES, NAMES
from headscope.declarations.head_measures import MeasureLabel
from headscope.statistics.tables.columns import FROM_ONE, PLACE, POSITIVE, count, estimate, excerpt, text
from headscope.statistics.tables.table_schema import Column, TableSchema

_UNIT = "length of a vector of the stream, share, nats or tokens"
_NEVER = "no output projection is known, or rows and keys are other tokens"
_SINK = "a learned sink"

DISTRIBUTION = TableSchema(
    name="distribution",
    meaning="The deciles of every head's rows: of how much it writes, of its non-sink attention, of its "
    "entropy and of its distance.",
    columns=(
        *PLACE,
        text("measure", "what is measured of every row", choices=NAMES),
        Column("decile", "how many tenths of the rows lie below the value", "int64", bounds=(1.0, 9.0)),
        *estimate("value", "where they end, by interpolation in bins", unit=_UNIT, missing=_NEVER, bounds=POSITIVE),
        count("n_rows", "rows"),
    ),
    key=("kind", "layer", "head", "measure", "decile"),
)  # fmt: skip

EXAMPLES = TableSchema(
    name="distribution_examples",
    meaning="Rows of every strength: for each decile of a head's rows by output norm, up to three drawn "
    "by a hash, with the tokens around them and what the head looked at most.",
    columns=(
        *PLACE,
        text(
            "measure",
            "what says how strong a row is: `non_sink` where it is not known what the head writes",
            choices=tuple(name for name in MEASURES if name in ("output_norm", "non_sink")),
        ),
        Column("decile", "which tenth of the rows, 1 for the weakest", "int64", bounds=(1.0, 10.0)),
        Column("rank", "which of the decile's, from 1", "int64", bounds=FROM_ONE),
        Column("value", "how strong the row is", unit="length of a vector of the stream, or share", bounds=POSITIVE),
        *excerpt("token", missing=_SINK),
    ),
    key=("kind", "layer", "head", "decile", "rank"),
)  # fmt: skip

TABLES = (DISTRIBUTION, EXAMPLES)

HEAD_LABELS = {
    (name, decile): MeasureLabel(
        label=f"{measure.label}, {of_rows}", unit="units of length" if name == "output_norm" else measure.unit
    )
    for name, measure in MEASURES.items()
    for decile, of_rows in ((5, "median"), (9, "9th decile"))
}
