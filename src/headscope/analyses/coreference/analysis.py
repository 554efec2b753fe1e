"""Coreference heads and GAP, declared."""

from headscope.analyses.analysis import Analysis, Stage

ANALYSIS = Analysis(
    name="coreference",
    question="Which head finds antecedents?",
    stages=(
        # 2 of both: intervals and tests that keep their level, tables of differences.
        Stage(
            name="coreference",
            measure="measure:measure_coreference",
            corpora=("coreference",),
            options=("pieces", "controls", "windows", "singletons", "strict"),
            tables=(
                *("coreference", "coreference_differences", "coreference_heads", "coreference_examples"),
            ),
            version=2,
        ),
        Stage(
            name="gap",
            measure="gap.measure:measure_gap",
            corpora=("gap",),
            asked="coreference",
            options=("pieces",),
            tables=("gap",),
            version=2,
        ),
    ),
    study="in_study:STUDY",
)
