"""The tables of explanations."""

from headscope.scans.declarations.head_measures import SHARE, MeasureLabel
from headscope.statistics.inference.significance import LEAST_DIVERGENCE
from headscope.statistics.tables.columns import (
    FEW,
    FROM_ONE,
    IN_SEGMENT,
    NOT_NEGATIVE,
    PLACE,
    count,
    ends,
    estimate,
    number,
    text,
)
from headscope.statistics.tables.table_schema import Column, TableSchema

WEIGHT, NORM, NON_SINK = MEASURES = ("weight", "norm", "non_sink")
"""The attention weight, norm-weighted attention, and the weight on non-sink keys, renormalized."""
TRAINED, CONTROL = MODELS = ("trained", "control")
TEXT, TREEBANK, COREFERENCE = CORPORA = ("text", "treebank", "coreference")
BEST, WORST = PREDICTIONS = ("best", "worst")
"""The reasons why a row is an example: it is predicted best, or worst."""
_CORPUS = text(
    "corpus", "corpus of the rows: the text, or an annotated corpus, whose annotation adds features",
    choices=CORPORA,
)  # fmt: skip
_OF = (
    _CORPUS,
    *PLACE,
    text(
        "measure",
        "predicted quantity: the attention weight, norm-weighted attention, or the weight on non-sink keys, "
        "renormalized",
        choices=MEASURES,
    ),
    text("model", "heads of the trained model, or of one with random weights", choices=MODELS),
)  # fmt: skip
_KEY = ("corpus", "kind", "layer", "head", "measure", "model")
_NOT = f"{FEW}, or nothing to explain"


def _mean(name: str, meaning: str, unit: str, missing: str = "no row") -> Column:
    return Column(name, meaning, unit=unit, missing=missing, bounds=NOT_NEGATIVE)


EXPLANATION = TableSchema(
    name="explanation",
    meaning="The share of each head's attention that features predict, on documents that did not fit them: "
    "1 - sum KL(attention || prediction) / sum KL(attention || uniform). It can be negative.",
    columns=(
        *_OF,
        number("explained", "the share that is predicted", unit="share", missing=_NOT),
        *ends("explained", unit="share", missing=_NOT),
        _mean("to_explain", "mean divergence of attention from uniform attention over the keys that count", "nats"),
        _mean("uniform", "mean entropy of this uniform attention", "nats"),
        _mean(
            "mass", "mean attention on the keys that count: all of it, or of `non_sink` the attention on non-sink keys",
            "share",
        ),
        number(
            "wrong", "median share of this head that the predictions for the layer's other heads explain",
            unit="share", missing=f"{_NOT}, or the layer has one head",
        ),
        text(
            "sentence",
            f"the groups that are shown to add, and add at least a point, in words; with {FEW} the groups that were "
            "fitted, not tested",
            missing=f"less than {LEAST_DIVERGENCE:g} nats to explain, or random weights",
        ),
        count("n_rows", "rows"),
        count("n_documents", "documents"),
    ),
    key=_KEY,
)  # fmt: skip
EXPLANATION_GROUPS = TableSchema(
    name="explanation_groups",
    meaning="What each group of features adds to the explained share of a head on top of the groups before it, in the "
    "order of a half of the documents, measured on the other half. All features together may explain more.",
    columns=(
        *_OF,
        text("group", "group of features: of the catalog, or of those that a user adds"),
        Column("rank", "by share, from 1", "int64", bounds=FROM_ONE),
        *estimate("share", "gain of the explained share by this group", unit="share"),
        text("alternatives", "groups that would do as well, to a point, separated by spaces; empty if none"),
        text("words", "tokens that the group favors, or that name its kind of words, separated by spaces; or empty"),
        text("attending", "the same of the attending tokens, for a group of pairs of words; may be empty"),
        Column("halves", "number of halves of the documents whose order contains it", "int64", bounds=(1.0, 2.0)),
    ),
    key=(*_KEY, "group"),
)
EXPLANATION_EXAMPLES = TableSchema(
    name="explanation_examples",
    meaning="Rows of each head with its attention weights and what the other half of the documents predicts: the row "
    "predicted best, of those with as much to explain as the median row, and two rows of different documents predicted "
    "worst. Shown are the tokens around the row, and the keys that have most by either.",
    columns=(
        _CORPUS,
        *PLACE,
        text("prediction", "which rows they are: predicted best, or worst", choices=PREDICTIONS),
        Column("rank", "which of these, from 1", "int64", bounds=FROM_ONE),
        number("explained", "the share that is predicted of this row alone", unit="share"),
        _mean(
            "to_explain", "divergence of the row's attention from uniform attention over the visible keys", "nats", ""
        ),
        *IN_SEGMENT,
        Column("row", "position of the token that attends, in the input", "int64", bounds=NOT_NEGATIVE),
        text("row_token", "readable token that attends"),
        Column("positions", "of the keys in `tokens`, ascending; the learned sink has -1 and is last", "list of int64"),
        Column("tokens", "readable keys", "list of text"),
        Column(
            "continues_word",
            "indices into `tokens`, from 0, of tokens that continue the word of the token before",
            "list of int64",
        ),
        Column("attention", "weight on each of `tokens`", "list of float64", unit="share"),
        Column("predicted", "predicted weights", "list of float64", unit="share"),
    ),
    key=(*("corpus", "kind", "layer", "head"), "prediction", "rank"),
)
TABLES = (EXPLANATION, EXPLANATION_GROUPS, EXPLANATION_EXAMPLES)

HEAD_LABELS, TREEBANK_LABELS, COREFERENCE_LABELS, NON_SINK_LABELS = (
    {(): MeasureLabel(label=f"explained share{of}", unit=SHARE)}
    for of in ("", " in the treebank", " in the coreference corpus", " of non-sink attention")
)
