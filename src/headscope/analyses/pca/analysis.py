"""The declaration of principal directions."""

from headscope.scans.declarations.analysis import TEXT_INPUTS, Analysis, Command, Stage
from headscope.scans.declarations.head_measures import HeadMeasures

ANALYSIS = Analysis(
    name="pca",
    question="In which directions do a head's queries, keys and outputs vary?",
    stages=(
        Stage(
            name="pca",
            cost=0,
            measure="compute:PcaMeasurement",
            corpora=("text",),
            # 3: columns and values have the field's names.
            # 4: a column of counts is named after the thing that it counts.
            version=4,
            options=TEXT_INPUTS,
            order=7,
            by_name=True,
            refusal=(
                "saved maps hold no queries, keys or outputs; give a model and text in place of --maps to find their "
                "directions"
            ),
        ),
    ),
    command=Command(
        name="pca",
        help=(
            "Find the directions in which heads' vectors vary.\n\nOf queries, keys and outputs: how many directions a "
            "head uses, how much of the variance lies along the first, and where tokens lie along the first two."
        ),
    ),
    head_measures=(
        HeadMeasures(table="pca", by=("vectors", "statistic"), topic="Directions", labels="tables:HEAD_LABELS"),
    ),
)
