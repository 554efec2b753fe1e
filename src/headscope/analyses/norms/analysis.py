"""The declaration of output norms."""

from headscope.scans.declarations.analysis import TEXT_INPUTS, Analysis, Command, Stage
from headscope.scans.declarations.head_measures import HeadMeasures

ANALYSIS = Analysis(
    name="norms",
    question="How much does each head write?",
    stages=(
        # 2: the output as it enters the stream, after gates and norms; inactive heads, corrected over heads.
        Stage(
            name="norms",
            cost=0,
            measure="compute:NormsMeasurement",
            corpora=("text",),
            options=TEXT_INPUTS,
            order=1,
            # 3: columns and values have the field's names.
            # 4: a column of counts is named after the thing that it counts.
            # 5: a piece of a character is not punctuation.
            version=5,
            refusal="saved maps hold no values; give a model and text in place of --maps to measure output norms",
        ),
    ),
    command=Command(
        name="norms",
        help=(
            "Measure how much each head writes.\n\nA weight says where a head looks; the length of its output says "
            "whether "
            "it matters. Heads that write little are inactive."
        ),
    ),
    more_columns="facts:non_sink",
    head_measures=(
        HeadMeasures(
            table="norms", by=("statistic", "key_class"), topic="How much it writes", labels="tables:HEAD_LABELS"
        ),
    ),
)
