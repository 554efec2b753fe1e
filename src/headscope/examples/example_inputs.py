"""The inputs of examples: short sentences for drawing heads, and the number of inputs that are read twice."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from headscope.corpora.document import Document
from headscope.encoding.segment import Segment

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
