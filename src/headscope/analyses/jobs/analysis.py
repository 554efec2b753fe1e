"""The jobs of heads, declared."""

from headscope.declarations.analysis import TEXT_INPUTS, Analysis, Stage
from headscope.declarations.command import Command
from headscope.declarations.head_measures import HeadMeasures


def _measures_of(corpus: str, *, suffix: str = "") -> tuple[HeadMeasures, HeadMeasures]:
    """Return what is measured in a corpus of each head, the same in all rows of a head, and of each of its jobs."""
    of_corpus = {"corpus": corpus}
    of_head = {**of_corpus, "job": 1}
    return (
        HeadMeasures(table="jobs", values=("jobs", "agreement", "active"), where=of_head, suffix=suffix),
        HeadMeasures(table="jobs", values=("share",), by=("job",), where=of_corpus, measure="share", suffix=suffix),
    )


ANALYSIS = Analysis(
    name="jobs",
    question="Does a head do one thing or several?",
    stages=(
        Stage(
            name="jobs",
            cost=9,
            # 3: a test for a valley between jobs, and a count for random weights.
            # 4: columns and values have the names of the field.
            # 5: a column that counts is named by what it counts. 6: text and treebank are in the same tables.
            # 7: a piece of a character is not punctuation.
            version=7,
            measure="measure:JobsMeasurement",
            corpora=("text",),
            optional_corpora=("treebank",),
            options=(*TEXT_INPUTS, "controls", "spacing"),
            order=7,
            by_name=True,
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
    head_measures=(*_measures_of("text"), *_measures_of("treebank", suffix="treebank")),
)
