"""The explanation of heads, declared."""

from headscope.declarations.analysis import TEXT_INPUTS, Analysis, Stage
from headscope.declarations.command import Command
from headscope.declarations.head_measures import NORM_WEIGHTED, HeadMeasures

_SUFFIXES = {"weight": "", "norm": NORM_WEIGHTED, "non_sink": "non_sink"}


def _measures_of(measure: str) -> tuple[HeadMeasures, HeadMeasures]:
    """Return the numbers of heads by a measure: the explained share, and what stands beside it."""
    where, suffix = {"measure": measure, "model": "trained"}, _SUFFIXES[measure]
    return (
        HeadMeasures(
            table="explanation",
            values=("explained",),
            where=where,
            measure="explained",
            suffix=suffix,
            topic="Explained",
            labels="tables:NON_SINK_LABELS" if measure == "non_sink" else "tables:HEAD_LABELS",
        ),
        HeadMeasures(table="explanation", values=("to_explain", "wrong"), where=where, suffix=suffix),
    )


ANALYSIS = Analysis(
    name="explanation",
    question="How much of what a head looks at do features with names predict?",
    stages=(
        Stage(
            name="explanation",
            cost=40,
            measure="measure:ExplanationMeasurement",
            corpora=("text",),
            options=(*TEXT_INPUTS, "controls"),
            # 4: a table of example rows.
            version=4,
            order=8,
            by_name=True,
            refusal=(
                "saved maps do not say how tokens are written, which features are computed from; give a model and "
                "text in place of --maps to explain heads"
            ),
        ),
    ),
    command=Command(
        name="explanation",
        help=(
            "Explain every head in a sentence, with its held-out share.\n\n"
            "Attention is predicted from features with names: where the key is, what it is, whether it is a copy. "
            "Half of the documents select and fit them, the other half measure."
        ),
    ),
    head_measures=tuple(measures for measure in _SUFFIXES for measures in _measures_of(measure)),
)
