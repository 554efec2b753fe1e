"""The experiments, each with the inputs of the model and the behaviors that are measured on them, and their tables."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from headscope.analyses.behaviors.catalog import BEHAVIORS, NATURAL, SHARES
from headscope.analyses.behaviors.tables import MEASURE, MODEL, SEED, best_columns, measured_columns
from headscope.scans.declarations.head_measures import MeasureLabel
from headscope.statistics.tables.columns import HEAD_OR_MEAN, KIND, LAYER, text
from headscope.statistics.tables.table_schema import TableSchema


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """An experiment: controlled inputs for a model, and the behaviors measured on them.

    Attributes:
        name: name in tables.
        title: title in the page.
        where: words in sentences: `over repeated random tokens, ...`.
        meaning: description of the inputs, for the definitions and the glossary.
        behaviors: measured behaviors, in order.
        on_cards: True if heads' cards and the search include its behaviors.
        beside: words added there to the behavior's name in labels.
    """

    name: str
    title: str
    where: str
    meaning: str
    behaviors: tuple[str, ...]
    on_cards: bool = False
    beside: str = ""


_EVERY = (
    Experiment(
        name="repeated",
        title="Random tokens, repeated",
        where="over repeated random tokens",
        meaning="at most 32 sequences of 64 random tokens, repeated once (shorter if the model reads less). "
        "Ordinary tokens of the vocabulary are equally likely; special, added and unused tokens do not occur. Only "
        "rows of the second copy count",
        behaviors=("induction", "duplicate", "previous"),
        on_cards=True,
        beside=", random tokens",
    ),
    Experiment(
        name="needle",
        title="A needle in a haystack",
        where="in repeated needles",
        meaning="16 stretches of 16 tokens of the text, each inserted at five depths (0, ¼, ½, ¾, 1) into other "
        "text, in inputs of three lengths: 512 tokens (or the model's maximum), a half and a quarter of that; the "
        "needle is repeated at the end. Decoders only",
        behaviors=("retrieval",),
        on_cards=True,
    ),
    Experiment(
        name="shuffled",
        title="Shuffled words",
        where="over shuffled words",
        meaning="at most 32 inputs of the text, spread over its documents, with the words of each line in another "
        "order",
        behaviors=NATURAL,
    ),
)  # fmt: skip

EXPERIMENTS: Mapping[str, Experiment] = {experiment.name: experiment for experiment in _EVERY}
NAMES = tuple(EXPERIMENTS)
MEASURED = tuple(dict.fromkeys(name for experiment in _EVERY for name in experiment.behaviors))

_EXPERIMENT = text("experiment", "kind of input", choices=NAMES)
_OF = (_EXPERIMENT, MODEL, SEED, KIND)
_MEASURE = replace(
    MEASURE,
    meaning=f"{MEASURE.meaning}; in `retrieval` by `norm` the key with the largest norm-weighted share counts as its "
    "strongest",
)

EXPERIMENTS_TABLE = TableSchema(
    name="experiments",
    meaning="The behaviors of every head on controlled inputs, with uniform attention in the same rows, and the "
    "behaviors of models with random weights. Claims on heads use weights.",
    columns=(*_OF, LAYER, HEAD_OR_MEAN, _MEASURE, *measured_columns(MEASURED)),
    key=("experiment", "model", "seed", "kind", "layer", "head", "measure", "behavior"),
)  # fmt: skip

EXPERIMENTS_BEST = TableSchema(
    name="experiments_best",
    meaning="The head of each kind that shows a behavior the most in an experiment, by held-out selection; of models "
    "with random weights by the same selection.",
    columns=(*_OF, *best_columns(tuple(name for name in MEASURED if name in SHARES))),
    key=("experiment", "model", "seed", "kind", "behavior"),
)  # fmt: skip

TABLES = (EXPERIMENTS_TABLE, EXPERIMENTS_BEST)

HEAD_LABELS = {
    (experiment.name, name): MeasureLabel(
        label=f"{name}{experiment.beside}", description=BEHAVIORS[name].label, unit=BEHAVIORS[name].unit
    )
    for experiment in EXPERIMENTS.values()
    if experiment.on_cards
    for name in experiment.behaviors
}
