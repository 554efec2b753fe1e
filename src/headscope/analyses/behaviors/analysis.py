"""Behaviors in text, declared."""

from headscope.declarations.analysis import TEXT_INPUTS, Analysis, Stage
from headscope.declarations.command import Command
from headscope.declarations.head_measures import NORM_WEIGHTED, HeadMeasures


def measures_of(table: str, *by: str, topic: str, norm_topic: str) -> tuple[HeadMeasures, HeadMeasures]:
    """Return what heads show of behaviors by weight, with a verdict, and what they do in norm-weighted attention."""
    by_weight, by_norm = ({"model": "trained", "measure": measure} for measure in ("weight", "norm"))
    labels = "tables:HEAD_LABELS"
    return (
        HeadMeasures(table=table, by=by, where=by_weight, verdict="shows", topic=topic, labels=labels),
        HeadMeasures(table=table, by=by, where=by_norm, suffix=NORM_WEIGHTED, topic=norm_topic, labels=labels),
    )


ANALYSIS = Analysis(
    name="behaviors",
    question="Which behaviors do heads show in text: the sink, copies, induction, delimiters?",
    stages=(
        Stage(
            name="behaviors",
            cost=8,
            measure="measure:BehaviorsMeasurement",
            corpora=("text",),
            options=(*TEXT_INPUTS, "controls"),
            order=4,
            # 2: the same by what heads write.
            # 3: controls read at most 64 inputs; the head that is named is scored on documents that did not choose it,
            # and what heads show is corrected over them.
            # 4: columns and values have the names of the field.
            # 5: a column that counts is named by what it counts.
            # 6: examples of copies and of induction.
            # 7: a piece of a character is not punctuation.
            version=7,
            listed="analyses.behaviors.catalog:NATURAL",
        ),
    ),
    command=Command(
        name="behaviors",
        help=(
            "Say which heads show known behaviors in text.\n\nThe first token, neighbors, copies, induction and "
            "delimiters, beside uniform attention in the same rows and beside random weights."
        ),
    ),
    head_measures=measures_of(
        "behaviors", "behavior", topic="Behaviors in text", norm_topic="Behaviors by what it writes"
    ),
    paper={"table-behaviors": "in_paper:best_heads"},
)
