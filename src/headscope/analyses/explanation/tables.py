"""The tables of explanations."""

from headscope.analyses.explanation.catalog import GROUPS
from headscope.declarations.head_measures import SHARE, MeasureLabel
from headscope.statistics.tables.columns import FEW, FROM_ONE, PLACE, POSITIVE, count, ends, number, text
from headscope.statistics.tables.table_schema import Column, TableSchema

WEIGHT, NORM, NON_SINK = MEASURES = ("weight", "norm", "non_sink")
"""The attention weight, norm-weighted attention, and the weight on non-sink keys, by the prediction of the weight."""
TRAINED, CONTROL = MODELS = ("trained", "control")
_OF = (
    *PLACE,
    text(
        "measure",
        "what is predicted: the attention weight, norm-weighted attention, or the weight on non-sink keys, "
        "renormalized, by the prediction of the weight",
        choices=MEASURES,
    ),
    text("model", "whose heads: the model's, or those of one with random weights", choices=MODELS),
)
_KEY = ("kind", "layer", "head", "measure", "model")
_NOT = f"{FEW}, or nothing to explain"

EXPLANATION = TableSchema(
    name="explanation",
    meaning="How much of what each head attends to is predicted by features with names, on documents that neither "
    "selected nor fitted them: 1 - sum KL(attention || prediction) / sum KL(attention || uniform). It can be negative.",
    columns=(
        *_OF,
        number("explained", "the share that is predicted", unit="share", missing=_NOT),
        *ends("explained", unit="share", missing=_NOT),
        Column(
            "to_explain",
            "mean divergence of attention from uniform attention over the visible keys",
            unit="nats",
            missing="no row",
            bounds=POSITIVE,
        ),
        number(
            "wrong",
            "the median of what the predictions of the layer's other heads explain of this head",
            unit="share",
            missing=f"{_NOT}, or the layer has one head",
        ),
        text("sentence", "the groups that add at least a point, in words", missing=_NOT),
        count("n_rows", "rows"),
        count("n_documents", "documents"),
    ),
    key=_KEY,
)

EXPLANATION_GROUPS = TableSchema(
    name="explanation_groups",
    meaning="What each group of features adds to the explained share of a head, in the order in which groups are "
    "selected; the shares of a head add up to its explained share.",
    columns=(
        *_OF,
        text("group", "group of features", choices=tuple(GROUPS)),
        Column("rank", "by share, from 1", "int64", bounds=FROM_ONE),
        number("share", "what the group adds to the explained share", unit="share"),
        *ends("share", unit="share"),
        text(
            "exchangeable",
            "groups in place of which it loses less than a point, parted by spaces; empty if none",
        ),
        Column("halves", "halves of the documents that selected it", "int64", bounds=(1.0, 2.0)),
    ),
    key=(*_KEY, "group"),
)
TABLES = (EXPLANATION, EXPLANATION_GROUPS)

HEAD_LABELS = {(): MeasureLabel(label="explained share", unit=SHARE)}
NON_SINK_LABELS = {(): MeasureLabel(label="explained share of non-sink attention", unit=SHARE)}
