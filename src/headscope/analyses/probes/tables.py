"""The parsers of section 5, the rows of table 3, and the tables of probes.

A new parser is a class (`parsers.learner.ArcProbe`) and a place in `PARSERS`.
"""

from collections.abc import Mapping

from headscope.analyses.probes.parsers.attention_probes import DIRECTIONS, AttentionProbe, AttentionWordsProbe
from headscope.analyses.probes.parsers.distances_and_words import DistanceWordsProbe
from headscope.analyses.probes.parsers.learner import ArcProbe, System
from headscope.statistics.tables.columns import NOT_NEGATIVE, PLACE, count, difference, number, share, shares, text
from headscope.statistics.tables.frames import DISTANCES
from headscope.statistics.tables.table_schema import Column, TableSchema

RIGHT_BRANCHING, STRUCTURAL = "right-branching", "structural"
"""The names of the probes that are not parser classes."""
PARSERS: tuple[type[ArcProbe], ...] = (AttentionProbe, AttentionWordsProbe, DistanceWordsProbe)
OVER_ATTENTION = tuple(probe.name for probe in PARSERS if probe.reads_attention)
SYSTEMS: Mapping[tuple[str, str], System] = {
    (STRUCTURAL, "trained"): System(
        name="Structural probe", measure="UUAS", role="broad", paper="structural probe (UUAS)"
    ),
    (RIGHT_BRANCHING, "trained"): System(name="Right-branching", role="mixed", paper="right-branching"),
    # Probes without attention come first; probes on random weights come before those on the trained model.
    **{(probe.name, "trained"): probe.system for probe in PARSERS if not probe.reads_attention},
    **{(probe.name, "control"): probe.control for probe in PARSERS if probe.control is not None},
    **{(probe.name, "trained"): probe.system for probe in PARSERS if probe.reads_attention},
}
"""The rows of table 3 by (probe, model), in the paper's order."""

_WORDS = "words"
_NONE = "nothing could be scored"
_MEASURES = ("UAS", "UAS tree", "LAS", "control accuracy", "selectivity", "UUAS", "Spearman")
_SIGNED = ("measure", ("selectivity", "Spearman"))
_PROBE = text("probe", "name of the probe, or of a baseline without one")
_MODEL = text("model", "the trained model, or one with random weights", choices=("trained", "control"))
_VECTORS = text("vectors", "the vectors of words that it sees, or the layer", missing="it sees none")
_WHO = (_PROBE, _MODEL, _VECTORS)

PROBES = TableSchema(
    name="probes",
    meaning="How much of the trees each probe finds: every seed, and their mean.",
    columns=(
        _PROBE,
        text("measure", "what is counted", choices=_MEASURES),
        _MODEL,
        _VECTORS,
        Column("seed", "which of the probes", "Int64", missing="their mean"),
        *shares("value", "the measure", missing=_NONE, unless=_SIGNED),
        count("n_cases", f"{_WORDS}, sentences for Spearman"),
        share("spread", "standard deviation over seeds", missing="a single probe"),
    ),
    key=("probe", "measure", "model", "seed"),
)

PROBE_DIFFERENCES = TableSchema(
    name="probe_differences",
    meaning="Differences between probes on the same words; for the structural probe, the selected layer minus the "
    "embeddings.",
    columns=(
        _PROBE,
        _MODEL,
        text("than_probe", "the other probe"),
        text("than_model", "its model", choices=("trained", "control")),
        text("measure", "what is counted", choices=("UAS", "UUAS")),
        count("n_cases", _WORDS),
        *difference("the first minus the second", missing=_NONE),
    ),
    key=("probe", "model", "than_probe", "than_model", "measure"),
)

PROBE_RELATIONS = TableSchema(
    name="probe_relations",
    meaning="Heads found by each probe, by relation: means over seeds.",
    columns=(*_WHO, text("relation", "label in the treebank"), count("n_cases", _WORDS), *shares("value", "UAS")),
    key=("probe", "model", "relation"),
)

PROBE_BY_DISTANCE = TableSchema(
    name="probe_by_distance",
    meaning="Heads found by each probe, by the distance of the head word: means over seeds.",
    columns=(
        *_WHO,
        text("distance", "words to the head word", choices=DISTANCES),
        count("n_cases", _WORDS),
        *shares("value", "UAS", missing="no such word"),
    ),
    key=("probe", "model", "distance"),
)

PROBE_WEIGHTS = TableSchema(
    name="probe_weights",
    meaning="The weight that each probe gives each head, in each direction: means over seeds.",
    columns=(
        _PROBE,
        *PLACE,
        text("direction", "direction of attention", choices=DIRECTIONS),
        number("weight", "its weight", unit="score per unit of attention"),
    ),
    key=("probe", "kind", "layer", "head", "direction"),
)

_CORRELATION = ("measure", ("Spearman",))
_HELD_OUT = "the measure on the held-out part of train, whose UUAS selects the layer"
PROBE_LAYERS = TableSchema(
    name="probe_layers",
    meaning="The structural probe on every layer, with the first seed.",
    columns=(
        Column("layer", "layer whose vectors the probe reads; 0 for the embeddings", "int64", bounds=NOT_NEGATIVE),
        text("measure", "what is counted", choices=("UUAS", "Spearman")),
        *shares("value", "the measure", missing=_NONE, unless=_CORRELATION),
        count("n_cases", f"{_WORDS}, sentences for Spearman"),
        share("held_out", _HELD_OUT, missing=_NONE, unless=_CORRELATION),
        Column("chosen", "whether this layer was selected", "bool"),
    ),
    key=("layer", "measure"),
)

TABLES = (PROBES, PROBE_DIFFERENCES, PROBE_RELATIONS, PROBE_BY_DISTANCE, PROBE_WEIGHTS, PROBE_LAYERS)
