"""The explanation of heads, declared."""

from headscope.declarations.analysis import TEXT_INPUTS, Analysis, Stage
from headscope.declarations.command import Command
from headscope.declarations.head_measures import NORM_WEIGHTED, HeadMeasures

ANALYSIS = Analysis(
    name="explanation",
    question="How much of what a head looks at do features with names predict?",
    stages=(
        Stage(
            name="explanation",
            measure="measure:ExplanationMeasurement",
            corpora=("text",),
            options=(*TEXT_INPUTS, "controls"),
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
            "Explain every head in one sentence, with the share of its attention that the sentence predicts.\n\n"
            "Attention is predicted from features with names: where the key is, what it is, whether it is a copy. "
            "Half of the documents select and fit them, the other half measure."
        ),
    ),
    head_measures=tuple(
        HeadMeasures(
            table="explanation",
            values=("explained",),
            where={"measure": measure, "model": "trained"},
            measure="explained",
            suffix=suffix,
            topic="Explained",
            labels=f"tables:{labels}",
        )
        for measure, suffix, labels in (
            ("weight", "", "HEAD_LABELS"),
            ("norm", NORM_WEIGHTED, "HEAD_LABELS"),
            ("non_sink", "non_sink", "NON_SINK_LABELS"),
        )
    ),
)
