"""The tables of behaviors in text."""

from typing import Any

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL, SHARES
from headscope.scans.declarations.head_measures import MeasureLabel
from headscope.statistics.tables.columns import (
    HEAD_OR_MEAN,
    IN_SEGMENT,
    KIND,
    LAYER,
    NOT_NEGATIVE,
    PLACE,
    SHARE,
    count,
    estimate,
    on_all_documents,
    share,
    shares,
    text,
)
from headscope.statistics.tables.frames import MEASURES
from headscope.statistics.tables.table_schema import Column, TableSchema

RULE = (
    "the whole interval lies above 0.25 and above twice the value of uniform attention in the same rows; the false "
    "discovery rate over heads is 5%"
)
"""The rule that decides if a head shows a behavior."""
MODELS = ("trained", "control")
_TOKENS = tuple(behavior.name for behavior in BEHAVIORS.values() if behavior.unit == "tokens")
_MOSTLY_SHARES: Any = {"unit": "share, or tokens where distance", "bounds": SHARE, "unless": ("behavior", _TOKENS)}
_NEVER = "it cannot occur"
MODEL = text("model", "trained, or control: random weights, embeddings kept", choices=MODELS)
SEED = Column("seed", "which control", "Int64", missing="the trained model", bounds=NOT_NEGATIVE)
SHOWS = Column("shows", f"whether the head shows it: {RULE}", "boolean", missing="not tested, or a layer's mean")

MEASURE = text(
    "measure",
    "by attention weight (`weight`), or norm-weighted (`norm`: the weight times the norm of the token's transformed "
    "value, each row divided by its sum); no rows of `norm` where norms are not known",
    choices=MEASURES,
)


def measured_columns(behaviors: tuple[str, ...]) -> tuple[Column, ...]:
    """Return the columns of a number for each head and behavior."""
    return (
        text("behavior", "what is measured", choices=behaviors),
        *estimate("value", "mean over the rows in which it can occur", missing=_NEVER, **_MOSTLY_SHARES),
        Column(
            "uniform", "value of uniform attention over the visible keys in the same rows",
            missing=_NEVER, **_MOSTLY_SHARES,
        ),
        count("n_rows", "rows"),
        SHOWS,
    )  # fmt: skip


def best_columns(behaviors: tuple[str, ...]) -> tuple[Column, ...]:
    """Return the columns of the head that is chosen for a behavior."""
    return (
        text("behavior", "behavior for which the head is selected", choices=behaviors),
        *PLACE[1:],
        share("share", "share of the splits in which it is selected", missing="nothing could be held out"),
        *shares(
            "value",
            "the named head's weight on documents that were not used to choose it (cross-fitted), or on all documents "
            "if nothing could be held out",
        ),
        *on_all_documents(missing="nothing could be held out"),
        share("uniform", "value of uniform attention in the same rows"),
        *shares(
            "held_out", "held-out value of the selection", prefix="held_out_",
            missing="nothing could be held out",
        ),
        count("n_rows", "rows"),
        SHOWS,
    )  # fmt: skip


BEHAVIORS_TABLE = TableSchema(
    name="behaviors",
    meaning="The behaviors of every head in text, with uniform attention in the same rows, and the behaviors of "
    "models with random weights on at most 32 inputs spread over the documents. Claims on heads use weights.",
    columns=(MODEL, SEED, KIND, LAYER, HEAD_OR_MEAN, MEASURE, *measured_columns(NATURAL)),
    key=("model", "seed", "kind", "layer", "head", "measure", "behavior"),
)

BEHAVIORS_BEST = TableSchema(
    name="behaviors_best",
    meaning="The head of each kind that shows a behavior the most, by held-out selection; of models with random "
    "weights by the same selection.",
    columns=(MODEL, SEED, KIND, *best_columns(tuple(name for name in NATURAL if name in SHARES))),
    key=("model", "seed", "kind", "behavior"),
)

COPY_EXAMPLES = TableSchema(
    name="copy_examples",
    meaning="For each head the stretch of text in which it puts the most weight on earlier copies of a token, and the "
    "stretch in which it puts the most weight on the tokens after these copies; chosen from a few inputs with many "
    "repetitions.",
    columns=(
        *PLACE,
        text("behavior", "what is shown", choices=("duplicate", "induction")),
        share("value", "mean weight on these keys, over the rows of the stretch that have one in it"),
        *IN_SEGMENT,
        Column("start", "position in the input at which the stretch begins", "int64", bounds=NOT_NEGATIVE),
        Column("tokens", "readable tokens of the stretch", "list of text"),
        Column("weights", "attention weights, row by row", "list of float64", unit="share"),
        Column("queries", "places, from 0, of the rows with the largest such weights", "list of int64"),
        Column("keys", "positions of the keys that these rows attend to", "list of int64"),
        text("text", "the stretch as text"),
    ),
    key=("kind", "layer", "head", "behavior"),
)

TABLES = (BEHAVIORS_TABLE, BEHAVIORS_BEST, COPY_EXAMPLES)

HEAD_LABELS = {
    (name,): MeasureLabel(label=name, description=BEHAVIORS[name].label, unit=BEHAVIORS[name].unit) for name in NATURAL
}
