"""The tables of dependency heads."""

from dataclasses import replace

from headscope.analyses.syntax.gold_arcs import DIRECTIONS, NOOP_CLASSES, OFFSETS
from headscope.scans.examples.example_tables import ARC_EXAMPLES
from headscope.statistics.tables.columns import PLACE, Q_VALUE, count, difference, on_all_documents, share, shares, text
from headscope.statistics.tables.frames import DISTANCES
from headscope.statistics.tables.table_schema import Column, TableSchema

_N_ARCS = count("n_arcs", "arcs")
_MODEL = text(
    "model",
    "the trained model, one with random weights, or the trained model on shuffled words",
    choices=("trained", "control", "shuffled"),
)
_SEED = Column("seed", "which of the random weights", "Int64", missing="not of random weights")
_DIRECTION = text("direction", "direction of attention", choices=(*DIRECTIONS, "both"))
_RELATION = text("relation", "label in the treebank; `all`; or `all_but_punct_root`")
_SAME = "chosen on the same data"
_HELD_OUT = "arcs found by the heads that the other documents selected"
_OFFSET = (float(min(OFFSETS)), float(max(OFFSETS)))
_BASELINE_OFFSET = Column("baseline_offset", "the fixed offset, in words", "int64", unit="words", bounds=_OFFSET)
_HEAD = (*PLACE, _DIRECTION, _RELATION)

SYNTAX = TableSchema(
    name="syntax",
    meaning="How often every head finds each relation, in each direction.",
    columns=(
        *(_MODEL, _SEED, *_HEAD, _N_ARCS),
        share("reachable", "arcs that the mask lets a head see"),
        *shares("accuracy", "arcs that are found"),
        Q_VALUE,
    ),
    key=("model", "seed", "kind", "layer", "head", "direction", "relation"),
)

SYNTAX_BEST = TableSchema(
    name="syntax_best",
    meaning="The best head of each relation, selected on half of the documents (`held-out`) or, as in the paper, on "
    "the documents that it is scored on (`same-data`), with the fixed offset that is selected in the same way.",
    columns=(
        *(_MODEL, _SEED),
        text("selection", "how it was chosen", choices=("held-out", "same-data")),
        *(_RELATION, _N_ARCS, *PLACE),
        share("share", "halves that choose this head", missing=_SAME),
        _DIRECTION,
        *shares(
            "accuracy",
            "arcs that the named head finds in documents that did not choose it (cross-fitted); `same-data`: in all",
        ),
        *on_all_documents(missing=_SAME),
        *shares("held_out", _HELD_OUT, prefix="held_out_", missing=_SAME),
        _BASELINE_OFFSET,
        *shares("baseline_accuracy", "arcs that the fixed offset finds in the same documents", prefix="baseline_"),
        *difference("`accuracy` minus `baseline_accuracy`", name="margin", prefix="margin_"),
        Q_VALUE,
    ),
    key=("model", "seed", "selection", "relation"),
)

SYNTAX_DIFFERENCES = TableSchema(
    name="syntax_differences",
    meaning="The held-out selection on the trained model minus that on a control, on the same sentences.",
    columns=(
        _RELATION,
        text("than", "the second of the two that are compared", choices=("control", "shuffled")),
        *(_SEED, _N_ARCS),
        *difference("accuracy of the selection minus that of the control"),
    ),
    key=("relation", "than", "seed"),
)

SYNTAX_BASELINES = TableSchema(
    name="syntax_baselines",
    meaning="What does without attention: the word at a fixed offset, the next word, the word before.",
    columns=(
        text("baseline", "what answers", choices=("offset", "right-branching", "left-branching")),
        Column("offset", "place of its answer from the dependent", "int64", unit="words", bounds=_OFFSET),
        *(_RELATION, _N_ARCS),
        *shares("accuracy", "arcs that it finds"),
    ),
    key=("baseline", "offset", "relation"),
)

SYNTAX_BY_DISTANCE = TableSchema(
    name="syntax_by_distance",
    meaning="Accuracy of the best head of each relation, by the distance between the two words.",
    columns=(
        *(_MODEL, *_HEAD),
        text("distance", "words from one to the other", choices=DISTANCES),
        _N_ARCS,
        *shares("accuracy", "arcs that the head finds"),
        _BASELINE_OFFSET,
        share("baseline_accuracy", "arcs that the fixed offset finds"),
    ),
    key=("relation", "distance"),
)

_NONE = "no such words"
SYNTAX_NOOP = TableSchema(
    name="syntax_noop",
    meaning="Attention to sep and cls, in a relation's best head, from the attending words of the relation and from "
    "all other words; an input's first and last word are left out, because special tokens are their neighbors.",
    columns=(
        *_HEAD,
        text("key_class", "the special token", choices=NOOP_CLASSES),
        count("n_words", "words", meaning="words that attend in the relation"),
        count("n_other_words", "words", meaning="all other words"),
        share("attending", "attention from the words that attend in the relation", missing=_NONE),
        share("others", "attention from all other words", missing=_NONE),
        *difference("`attending` minus `others`", missing=_NONE),
    ),
    key=("relation", "key_class"),
)

SYNTAX_EXAMPLES = replace(ARC_EXAMPLES, name="syntax_examples")

TABLES = (SYNTAX, SYNTAX_BEST, SYNTAX_DIFFERENCES, SYNTAX_BASELINES, SYNTAX_BY_DISTANCE, SYNTAX_NOOP, SYNTAX_EXAMPLES)
