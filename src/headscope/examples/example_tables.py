"""The tables of sentences on which heads are drawn."""

from headscope.statistics.roles import ROLES
from headscope.statistics.tables.columns import FROM_ONE, IN_SEGMENT, PLACE, POSITIVE, SHARE, share, text
from headscope.statistics.tables.table_schema import Column, TableSchema

SHARED = "shared"
_TOKENS = (
    Column("tokens", "readable tokens of the rows", "list of text"),
    Column("keys", "readable tokens of the columns", "list of text"),
)
_WEIGHTS = Column("weights", "attention weights, row by row", "list of float64", unit="share")


def _clear(meaning: str) -> Column:
    # A broad head is shown by its entropy.
    unless = ("behavior", ("broad",))
    return Column("value", meaning, unit="share, or nats where broad", bounds=SHARE, unless=unless)


EXAMPLES = TableSchema(
    name="examples",
    meaning="The sentences on which heads are drawn: for each behavior the one on which its strongest head shows it "
    "most, and up to three sentences with every head.",
    columns=(
        *PLACE,
        text("behavior", f"what is shown: a role, or `{SHARED}` for every head", choices=(*ROLES, SHARED)),
        _clear(f"how much of it, in the sentence; where `{SHARED}`, the largest weight"),
        *IN_SEGMENT,
        *_TOKENS,
        Column("continues_word", "which of `keys`, from 0, go on with the word of the one before", "list of int64"),
        _WEIGHTS,
    ),
    key=("kind", "layer", "head", "behavior", "document", "segment"),
)

TOP_EXAMPLES = TableSchema(
    name="top_examples",
    meaning="For each head the three inputs on which it does most of what its role rests on (`mixed`: the largest "
    "weight), as a stretch of each.",
    columns=(
        *PLACE,
        text("behavior", "the head's role", choices=tuple(ROLES)),
        Column("rank", "1 for the clearest", "int64", bounds=FROM_ONE),
        _clear("the mean over all rows of the input"),
        *IN_SEGMENT,
        Column("start", "position in the input at which the stretch begins", "int64", bounds=POSITIVE),
        *_TOKENS,
        _WEIGHTS,
        text("text", "the stretch as text"),
    ),
    key=("kind", "layer", "head", "rank"),
)

ARC_EXAMPLES = TableSchema(
    name="arc_examples",
    meaning="Sentences on which a best head is right, and one on which it is wrong: figure 5.",
    columns=(
        *PLACE,
        text("direction", "who attends to whom"),
        text("relation", "label in the treebank, or `coreference`"),
        text("outcome", "whether every answer is right", choices=("right", "wrong")),
        share("value", "mean weight on the right words"),
        *IN_SEGMENT,
        Column("tokens", "words, and special tokens at their place", "list of text"),
        _WEIGHTS,
        Column("queries", "places, from 0, of the words that attend", "list of int64"),
        Column("keys", "places of the words that they should attend to", "list of int64"),
        Column("predicted", "places of the words that the head answers", "list of int64"),
    ),
    key=("relation", "document"),
)
"""Table of examples that each analysis with best heads writes under its own name."""
