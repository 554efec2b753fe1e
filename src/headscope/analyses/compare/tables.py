"""The tables of a comparison: the change of each pair of heads, and the measures in which they differ."""

from headscope.analyses.compare.pairs import MARGIN, SAME_LEVEL, VERDICTS
from headscope.attention.head_id import KINDS
from headscope.scans.declarations.head_measures import MeasureLabel
from headscope.statistics.tables.columns import (
    FEW,
    FROM_ONE,
    HEAD,
    IN_SEGMENT,
    KIND,
    LAYER,
    NOT_NEGATIVE,
    Q_VALUE,
    count,
    difference,
    estimate,
    number,
    text,
)
from headscope.statistics.tables.table_schema import Column, TableSchema

_PARTNER = (
    text("other_kind", "kind of attention of its partner in the other model", choices=KINDS),
    Column("other_layer", "layer of its partner in the other model, from 1", "int64", bounds=FROM_ONE),
    Column("other_head", "head of its partner in that layer, from 1", "int64", bounds=FROM_ONE),
)

HEAD_CHANGES = TableSchema(
    name="head_changes",
    meaning="How differently each head and its partner in the other model attend.",
    columns=(
        *(KIND, LAYER, HEAD),
        *_PARTNER,
        *estimate(
            "change",
            "Jensen-Shannon divergence between the two heads, mean over rows; for matched heads on one half of the "
            "documents, with the partner chosen on the other",
            unit="nats",
            bounds=NOT_NEGATIVE,
        ),
        text(
            "verdict",
            f"`changed` if the interval, widened for the number of heads, is above the margin ({MARGIN:g} nats unless "
            f"given) at a false discovery rate of 5%; `same` if it is below, at {100 * SAME_LEVEL:g}%",
            missing=FEW,
            choices=VERDICTS,
        ),
        Column(
            "random_divergence",
            "divergence against random weights",
            unit="nats",
            missing="no controls",
            bounds=NOT_NEGATIVE,
        ),
        Column(
            "match",
            "whether the two attend more alike than chance allows: the divergence is below that of the other model's "
            "nearest head with permuted keys, and below the 5% quantile of pairs assigned to random weights",
            "boolean",
            missing="heads of one number, no controls, or too few documents",
        ),
        count("n_rows", "rows"),
        count("n_documents", "documents"),
    ),
    key=("kind", "layer", "head"),
)
_CANNOT = "it cannot occur"


def _differences(unit: str) -> tuple[Column, ...]:
    """Return the columns of a number in both models, of its paired difference, and of the test of the difference."""
    return (
        number("first", "value in the first model", unit=unit, missing=_CANNOT),
        number("second", "value in the second model", unit=unit, missing=_CANNOT),
        *difference("second minus first, paired by document", unit=unit, missing=_CANNOT),
        Q_VALUE,
    )


MEASURE_CHANGES = TableSchema(
    name="measure_changes",
    meaning="The difference of each measure between a head's partner in the other model and the head.",
    columns=(
        *(KIND, LAYER, HEAD),
        *_PARTNER,
        text("column", "name of the measure, a column of `study.heads`"),
        *_differences("as in the column's table"),
        count("n_documents", "documents"),
    ),
    key=("kind", "layer", "head", "column"),
)
GAINED, LOST = "gained", "lost"
COMPARE_GROUPS = TableSchema(
    name="compare_groups",
    meaning="What each group of features adds to the explanation of a head and of its partner in the other model "
    "(`--measures explanation`), of the groups in the explanation of either.",
    columns=(
        *(KIND, LAYER, HEAD),
        *_PARTNER,
        text("group", "group of features, as in `explanation_groups`"),
        *_differences("share"),
        text(
            "verdict",
            "`gained` if it adds at least a point more in the second model, and less than a point in the first; `lost` "
            "if the reverse: at a false discovery rate of 5%, where no other group would do as well",
            missing="neither, or the heads are the same",
            choices=(GAINED, LOST),
        ),
        count("n_documents", "documents"),
    ),
    key=("kind", "layer", "head", "group"),
)
_SIDES = tuple(
    Column(f"{prefix}{name}", f"{what}{of}", kind, unit="share" if name == "weights" else "")
    for prefix, of in (("", ""), ("other_", " of its partner"))
    for name, what, kind in (
        ("tokens", "readable tokens of the rows", "list of text"),
        ("keys", "readable tokens of the columns", "list of text"),
        ("weights", "attention weights, row by row", "list of float64"),
    )
)
COMPARE_EXAMPLES = TableSchema(
    name="compare_examples",
    meaning="The attention of the most changed heads and of their partners on the same sentences.",
    columns=(
        *(KIND, LAYER, HEAD),
        Column("rank", "1 for the sentence in which the two differ most", "int64", bounds=FROM_ONE),
        *IN_SEGMENT,
        *_SIDES,
    ),
    key=("kind", "layer", "head", "rank"),
)
TABLES = (HEAD_CHANGES, MEASURE_CHANGES, COMPARE_GROUPS, COMPARE_EXAMPLES)
HEAD_LABELS = {(): MeasureLabel(label="change between the models", unit="nats")}
