"""Short sentences for drawing heads, collected while a corpus is read."""

import re
from collections.abc import Iterable, Iterator

from headscope.corpora.document import Document

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
