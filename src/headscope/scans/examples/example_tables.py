"""The inputs of examples (short sentences, and inputs that are read twice), and the tables of drawn sentences."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from headscope.corpora.document import Document
from headscope.encoding.segment import Segment
from headscope.statistics.roles import ROLES
from headscope.statistics.tables.columns import FROM_ONE, IN_SEGMENT, NOT_NEGATIVE, PLACE, SHARE, share, text
from headscope.statistics.tables.table_schema import Column, TableSchema

_SHARE = 10
_FEWEST, _MOST = 48, 400
_FEWEST_TOKENS = 1024
"""A tenth of a short text would leave most heads without a second example."""


def example_inputs(total: int) -> int:
    """Return the number of short sentences read for examples: a tenth of all, at least 48 and at most 400.

    Args:
        total: number of sentences, or of equally short inputs.
    """
    return min(max(total // _SHARE, _FEWEST), _MOST)


def example_tokens(total: int) -> int:
    """Return the number of tokens of a text that are read for examples: a tenth, at least 1,024.

    Args:
        total: number of tokens of the text.
    """
    return max(total // _SHARE, _FEWEST_TOKENS)


def within_tokens(segments: Sequence[Segment], *, most: int) -> list[Segment]:
    """Return the first inputs with at most this number of tokens in total; the first alone may have more."""
    totals = accumulate(map(len, segments))
    return [
        segment
        for position, (segment, total) in enumerate(zip(segments, totals, strict=True))
        if not position or total <= most
    ]


_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'A-Z])")
_FEWEST_WORDS, _MOST_WORDS = 7, 18
_MOST = 48  # sentences


class SentenceKeeper:
    """Passes documents on, and keeps a short sentence of each of the first ones, or more of each if there are few.

    Attributes:
        sentences: (document id, words or one text), in corpus order.
    """

    def __init__(self) -> None:
        self.sentences: list[tuple[str, tuple[str, ...]]] = []
        self._spare: list[tuple[str, tuple[str, ...]]] = []

    def watch(self, documents: Iterable[Document]) -> Iterator[Document]:
        """Yield the documents unchanged."""
        for document in documents:
            if len(self.sentences) < _MOST:
                sentences = list(_short_sentences(document))
                self.sentences.extend((document.id, sentence) for sentence in sentences[:1])
                if len(self._spare) < _MOST:
                    self._spare.extend((document.id, sentence) for sentence in sentences[1:])
            yield document

    def candidates(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the kept sentences, filled up with more from the same documents if there are few."""
        return [*self.sentences, *self._spare][:_MOST]


def _short_sentences(document: Document) -> Iterator[tuple[str, ...]]:
    if document.words is not None:
        if _FEWEST_WORDS <= len(document.words) <= _MOST_WORDS:
            yield document.words
        return
    for line in document.lines:
        for sentence in _SENTENCE.split(line):
            if _FEWEST_WORDS <= len(sentence.split()) <= _MOST_WORDS and sentence.rstrip()[-1:] in ".!?\"'":
                yield (sentence.strip(),)


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
        text("behavior", f"role that the sentence illustrates, or `{SHARED}` for every head", choices=(*ROLES, SHARED)),
        _clear(f"its value in the sentence; for `{SHARED}`, the largest weight"),
        *IN_SEGMENT,
        *_TOKENS,
        Column(
            "continues_word",
            "indices into `keys`, from 0, of keys that continue the word of the key before",
            "list of int64",
        ),
        _WEIGHTS,
    ),
    key=("kind", "layer", "head", "behavior", "document", "segment"),
)
TOP_EXAMPLES = TableSchema(
    name="top_examples",
    meaning="For each head the three inputs with the highest value of the statistic that defines its role (`mixed`: "
    "the largest weight), each as a stretch of tokens.",
    columns=(
        *PLACE,
        text("behavior", "the head's role", choices=tuple(ROLES)),
        Column("rank", "1 for the clearest", "int64", bounds=FROM_ONE),
        _clear("the mean over all rows of the input"),
        *IN_SEGMENT,
        Column("start", "position in the input at which the stretch begins", "int64", bounds=NOT_NEGATIVE),
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
        text("direction", "direction of attention"),
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
