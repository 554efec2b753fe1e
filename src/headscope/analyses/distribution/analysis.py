"""The declaration of distributions over tokens."""

from headscope.scans.declarations.analysis import TEXT_INPUTS, Analysis, Command, Stage
from headscope.scans.declarations.head_measures import HeadMeasures

ANALYSIS = Analysis(
    name="distribution",
    question="What does each head do over everything it reads?",
    stages=(
        Stage(
            name="distribution",
            cost=0,
            measure="compute:DistributionMeasurement",
            corpora=("text",),
            # 4: columns and values have the field's names.
            # 5: a column of counts is named after the thing that it counts. 6: examples have a column decile.
            version=6,
            options=TEXT_INPUTS,
            order=6,
        ),
    ),
    terminal="facts:render_results",
    command=Command(
        name="distribution",
        help=(
            "Print the distribution of each head's measures over tokens.\n\nA mean hides whether a head always does a "
            "little or seldom a "
            "lot. Here are the deciles of its rows: of how much it writes, of its non-sink attention, of its entropy "
            "and of how far it looks."
        ),
    ),
    head_measures=(
        HeadMeasures(
            table="distribution", by=("measure", "decile"), topic="Over all its rows", labels="tables:HEAD_LABELS"
        ),
    ),
)
