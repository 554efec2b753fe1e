"""The tables of coreference heads, and of GAP."""

from dataclasses import replace

from headscope.analyses.coref.baselines import BASELINES
from headscope.analyses.coref.gap import GAP_BASELINES, GAP_MEASURES, GENDERS
from headscope.analyses.coref.mentions import MENTION_TYPES
from headscope.examples.example_tables import ARC_EXAMPLES
from headscope.statistics.tables.columns import (
    KIND,
    PLACE,
    Q_VALUE,
    count,
    difference,
    on_all_documents,
    share,
    shares,
    text,
)
from headscope.statistics.tables.table_schema import Column, TableSchema

_N_MENTIONS = count("n_mentions", "mentions")
_NONE = "no such mention"
_MODELS = ("trained", "control", "baseline")
_NOT_CHOSEN = "not held out"
_HELD_OUT = "mentions found by the heads that the other documents selected"
_SEED = Column("seed", "which of the random weights", "Int64", missing="not of random weights")
_TYPE = text("mention_type", "type of mention", choices=MENTION_TYPES)
# Systems without attention have no head.
_NO_HEAD = "not a head"
_LAYER_AND_HEAD = tuple(replace(column, dtype="Int64") for column in PLACE[1:])
_PLACE = tuple(replace(column, missing=_NO_HEAD) for column in (KIND, *_LAYER_AND_HEAD))
_SELECTION = text("selection", "how the head was chosen", missing=_NO_HEAD, choices=("held-out", "same-data"))

COREF = TableSchema(
    name="coref",
    meaning="How often the head that is best at all mentions finds an antecedent, beside what does without attention.",
    columns=(
        text("model", "the model as it is, one with random weights, or none", choices=_MODELS),
        *(_SEED, _SELECTION),
        text("system", "what answers", choices=("head", *BASELINES)),
        *_PLACE,
        share("share", "halves of the documents that choose this head", missing=_NOT_CHOSEN),
        *(_TYPE, _N_MENTIONS),
        *shares(
            "accuracy",
            "mentions whose antecedent is found: by a head in documents that did not choose it (cross-fitted); "
            "`same-data`, and by what does without attention: in all",
            missing=_NONE,
        ),
        *on_all_documents(missing=_NOT_CHOSEN),
        *shares("held_out", _HELD_OUT, prefix="held_out_", missing=_NOT_CHOSEN),
        Q_VALUE,
    ),
    key=("model", "seed", "selection", "system", "mention_type"),
)

COREF_HEADS = TableSchema(
    name="coref_heads",
    meaning="How often every head finds an antecedent, by type of mention.",
    columns=(
        text("model", "the model as it is, or one with random weights", choices=("trained", "control")),
        *(_SEED, KIND, *_LAYER_AND_HEAD, _TYPE, _N_MENTIONS),
        *shares("accuracy", "mentions whose antecedent is found", missing=_NONE),
    ),
    key=("model", "seed", "kind", "layer", "head", "mention_type"),
)

COREF_DIFFERENCES = TableSchema(
    name="coref_differences",
    meaning="The chosen head less each baseline, less itself on another type of mention, and the selection less that "
    "on random weights, on the same documents.",
    columns=(
        _TYPE,
        text("system", "what is compared", choices=("head", "selection")),
        text("than", "what it is compared with", choices=(*BASELINES, "head", "control")),
        text("than_type", "another type of mention", missing="the same type", choices=MENTION_TYPES),
        *(_SEED, _N_MENTIONS),
        *difference("accuracy of the first less that of the second", missing=f"{_NONE}, or {_NOT_CHOSEN}"),
    ),
    key=("mention_type", "system", "than", "than_type", "seed"),
)

COREF_EXAMPLES = replace(ARC_EXAMPLES, name="coref_examples")

GAP = TableSchema(
    name="gap",
    meaning="How often the best head takes a pronoun for the right one of two names, beside baselines.",
    columns=(
        text("system", "what answers", choices=("head", *GAP_BASELINES)),
        _SELECTION,
        *_PLACE,
        text("gender", "of the pronoun", choices=GENDERS),
        text("measure", "accuracy on rows with a right name, or F1 on all", choices=GAP_MEASURES),
        count("n_cases", "rows of GAP"),
        *shares(
            "value",
            "the measure: of a head on rows that did not choose it (cross-fitted); `same-data`, and of baselines: on "
            "all",
            missing="no such row",
        ),
        *on_all_documents(missing=_NOT_CHOSEN),
    ),
    key=("system", "selection", "gender", "measure"),
)

TABLES = (COREF, COREF_HEADS, COREF_DIFFERENCES, COREF_EXAMPLES)
GAP_TABLES = (GAP,)
