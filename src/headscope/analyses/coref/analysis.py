"""The declaration of coreference heads and GAP."""

from headscope.scans.declarations.analysis import Analysis, Command, CorpusCount, Stage
from headscope.scans.declarations.head_measures import ChosenHeads, HeadMeasures

ANALYSIS = Analysis(
    name="coref",
    question="Which head finds antecedents?",
    stages=(
        # 2 of both: intervals and tests with nominal coverage and level, tables of differences. 5 of both: the named
        # head is scored on documents that did not select it. 5 of the first: controls read a quarter of the documents,
        # examples come from fewer windows.
        Stage(
            name="coref",
            cost=5,
            control_cost=1,
            measure="compute:CoreferenceMeasurement",
            corpora=("coreference",),
            options=("spacing", "pooling", "controls", "windows", "singletons", "strict"),
            # 6: a column of counts is named after the thing that it counts.
            version=6,
            order=0,
        ),
        Stage(
            name="gap",
            cost=3,
            measure="compute:GapMeasurement",
            tables="tables:GAP_TABLES",
            corpora=("gap",),
            requested_as="coref",
            options=("spacing", "pooling"),
            # 6: a column of counts is named after the thing that it counts.
            version=6,
            order=0,
        ),
    ),
    command=Command(
        name="coref",
        help=(
            "Score every head on the antecedents of mentions.\n\nBaselines are included; results for GAP files "
            "are split by "
            "gender. Without --coref the synthetic documents are read."
        ),
    ),
    head_measures=(
        HeadMeasures(table="coref_heads", values=("accuracy",), by=("mention_type",), where={"model": "trained"}),
    ),
    chosen_heads=ChosenHeads(table="coref", name="coreference"),
    counts=(
        CorpusCount(corpus="coreference", number="counted", unit="mention", says="{} with an antecedent"),
        CorpusCount(corpus="gap", number="used", unit="row", says="{} of GAP"),
    ),
    paper={"table-2": "results:table_2"},
)
