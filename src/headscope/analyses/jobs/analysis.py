"""The jobs of heads, declared."""

from headscope.declarations.analysis import TEXT_INPUTS, Analysis, Stage
from headscope.declarations.command import Command
from headscope.declarations.head_measures import HeadMeasures


def _measures_of(table: str, *, suffix: str = "") -> tuple[HeadMeasures, HeadMeasures]:
    """Return what a table holds of each head, the same in all rows of a head, and of each of its jobs."""
    of_head = HeadMeasures(
        table=table, values=("jobs", "agreement", "active"), where={"job": 1}, suffix=suffix
    )
    return of_head, HeadMeasures(table=table, values=("share",), by=("job",), measure="share", suffix=suffix)


ANALYSIS = Analysis(
    name="jobs",
    question="Does a head do one thing or several?",
    stages=(
        Stage(
            name="jobs",
            # 3: a test for a valley between jobs, and a count for random weights.
            # 4: columns and values have the names of the field.
            # 5: a column that counts is named by what it counts.
            version=5,
            measure="measure:JobsMeasurement",
            corpora=("text",),
            options=(*TEXT_INPUTS, "controls"),
            order=7,
        ),
        # The jobs in a treebank, where parts of speech are features, too.
        Stage(
            name="tree_jobs",
            # 3: columns and values have the names of the field.
            # 4: a column that counts is named by what it counts.
            version=4,
            measure="measure_trees:TreeJobsMeasurement",
            tables="tables:TREE_TABLES",
            corpora=("treebank",),
            options=("spacing",),
            required_options=("treebank",),
            companion_of="jobs",
            order=7,
        ),
    ),
    command=Command(
        name="jobs",
        help=(
            "Say whether each head does one thing or several.\n\nA mean over all rows mixes what a head does here "
            "with what it does there. Rows in which it is active are grouped by where it looks, at what, and "
            "what it writes; a head has several jobs where such groups come out again of half of the documents, with a "
            "valley between any two. With "
            "--treebank its sentences are read as well, where parts of speech tell jobs apart, too."
        ),
    ),
    head_measures=(*_measures_of("jobs"), *_measures_of("tree_jobs", suffix="treebank")),
)
