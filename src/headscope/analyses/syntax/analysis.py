"""The declaration of dependency heads."""

from headscope.scans.declarations.analysis import Analysis, Command, CorpusCount, Stage
from headscope.scans.declarations.head_measures import ChosenHeads, HeadMeasures

ANALYSIS = Analysis(
    name="syntax",
    question="Which head finds which dependency relation?",
    stages=(
        # 2: intervals and tests with nominal coverage and level, tables of differences; `syntax_noop` is about the
        # words that attend. 4: its intervals use 32 groups of documents; words are tokenized as written. 5: the named
        # head is scored on documents that did not select it; `syntax_noop` without first and last words; controls read
        # a quarter of the documents, examples come from fewer sentences.
        Stage(
            name="syntax",
            cost=2,
            control_cost=1,
            measure="compute:SyntaxMeasurement",
            corpora=("treebank",),
            options=(
                *("spacing", "fold_labels", "pooling", "special_tokens", "both_directions"),
                *("compat", "controls", "shuffled"),
            ),
            # 6: a column of counts is named after the thing that it counts.
            version=6,
            order=0,
        ),
    ),
    command=Command(
        name="syntax",
        help=(
            "Score every head on dependency relations.\n\nThe best head of each is next to the best fixed offset. "
            "Without --treebank or --maps the synthetic treebank is read."
        ),
    ),
    head_measures=(
        HeadMeasures(table="syntax", values=("accuracy",), by=("relation", "direction"), where={"model": "trained"}),
    ),
    more_columns="relations:best_relations",
    chosen_heads=ChosenHeads(table="syntax_best", by="relation"),
    counts=(CorpusCount(corpus="treebank", number="sentences", unit="sentence", says="trees of {}"),),
    paper={"table-1": "page_rows:table_1"},
)
