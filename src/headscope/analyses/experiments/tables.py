"""The tables of experiments."""

from dataclasses import replace

from headscope.analyses.behaviors.catalog import BEHAVIORS, SHARES
from headscope.analyses.behaviors.tables import MEASURE, MODEL, SEED, best_columns, measured_columns
from headscope.analyses.experiments.catalog import EXPERIMENTS, MEASURED, NAMES
from headscope.declarations.head_measures import MeasureLabel
from headscope.statistics.tables.columns import HEAD_OR_MEAN, KIND, LAYER, text
from headscope.statistics.tables.table_schema import TableSchema

_EXPERIMENT = text("experiment", "what the model was given", choices=NAMES)
_OF = (_EXPERIMENT, MODEL, SEED, KIND)
_MEASURE = replace(
    MEASURE,
    meaning=f"{MEASURE.meaning}; in `retrieval` by `norm` the key of which the head writes most stands for its "
    "strongest",
)

EXPERIMENTS_TABLE = TableSchema(
    name="experiments",
    meaning="What every head does where the answer is known, beside uniform attention in the same rows; the same of "
    "models with random weights. What is said of a head is by weights.",
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
