"""Declaration of the analysis of behaviors in text."""

from headscope.scans.declarations.analysis import TEXT_INPUTS, Analysis, Command, Stage
from headscope.scans.declarations.head_measures import NORM_WEIGHTED, HeadMeasures


def measures_of(table: str, *by: str, topic: str, norm_topic: str) -> tuple[HeadMeasures, HeadMeasures]:
    """Return the head measures of behaviors by weight, with a verdict, and by norm-weighted attention."""
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
            cost=0,
            control_cost=2,
            measure="compute:BehaviorsMeasurement",
            corpora=("text",),
            options=(*TEXT_INPUTS, "controls"),
            order=4,
            # 2: the same for norm-weighted attention.
            # 3: controls read at most 64 inputs; the chosen head is scored on held-out documents, and verdicts are
            # corrected for multiple tests over heads.
            # 4: columns and values have the names of the field.
            # 5: a count column is named after what it counts.
            # 6: examples of copies and of induction.
            # 7: a piece of a character is not punctuation.
            # 8: controls read at most 32 inputs.
            version=8,
            listed="analyses.behaviors.catalog:NATURAL",
        ),
    ),
    command=Command(
        name="behaviors",
        help=(
            "Print the heads that show known behaviors in text.\n\nThe first token, neighbors, copies, induction and "
            "delimiters, beside uniform attention in the same rows and beside random weights."
        ),
    ),
    head_measures=measures_of("behaviors", "behavior", topic="Behaviors in text", norm_topic="Norm-weighted behaviors"),
    paper={"table-behaviors": "chosen:paper_table"},
)
