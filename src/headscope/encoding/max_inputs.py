"""The inputs chosen by `--max-inputs`: some inputs of a corpus, spread over its documents.

First, one input of each document is chosen, in a random order given by the seed; a document gives a second input only
when every other document has given one. The order of inputs within a document is random, too, because beginnings are
not like the rest.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import blake2b
from heapq import nsmallest

from headscope.corpora.document import Document

_WHOLE = -1  # in place of the index of an input when a document is ranked
# Number of documents kept to draw inputs from, and number of documents and characters read to find them.
_FOR_EACH, _AT_LEAST = 4, 64
_READ_FOR_EACH, _READ_AT_LEAST = 1000, 100_000
_CHARACTERS_FOR_EACH, _CHARACTERS_AT_LEAST = 1 << 16, 1 << 26


def draw_inputs(positions: Iterable[tuple[str, int]], *, limit: int, seed: int) -> frozenset[tuple[str, int]]:
    """Return the inputs that are drawn: `limit` of them, or all.

    Args:
        positions: document id and index of each input.
        limit: number of inputs to draw.
        seed: seed of the random draw, which does not depend on the order of the documents.
    """
    inputs: dict[str, list[int]] = defaultdict(list)
    for document, index in positions:
        inputs[document].append(index)

    def ranked() -> Iterator[tuple[int, bytes, str, int]]:
        for document, indices in inputs.items():
            document_rank, key = _draw(seed, document, _WHOLE), partial(_draw, seed, document)
            for turn, index in enumerate(nsmallest(limit, indices, key=key)):
                yield turn, document_rank, document, index

    return frozenset((document, index) for _, _, document, index in nsmallest(limit, ranked()))


def read_enough(documents: int, characters: int, *, limit: int | None) -> bool:
    """Return True if a limit on inputs is drawn only from the documents read so far.

    A few kilobytes of Parquet may hold 20 million rows, or 2,000 rows of 12 MB, which would all be read for four
    inputs.

    Args:
        documents: number of documents read, from the start of a corpus.
        characters: number of characters in them.
        limit: number of requested inputs; all if None.
    """
    if limit is None:
        return False
    return documents >= max(_READ_AT_LEAST, _READ_FOR_EACH * limit) or characters >= max(
        _CHARACTERS_AT_LEAST, _CHARACTERS_FOR_EACH * limit
    )


def first_documents(documents: Iterable[Document], *, limit: int | None) -> Iterator[Document]:
    """Yield the documents of a corpus until there are enough for a limit on inputs (`read_enough`)."""
    characters = 0
    for number, document in enumerate(documents, 1):
        yield document
        characters += characters_of(document)
        if read_enough(number, characters, limit=limit):
            return


def characters_of(document: Document) -> int:
    """Return the number of characters of a document that a model reads."""
    return sum(map(len, document.text()))


def draw_documents(documents: Iterable[Document], *, limit: int, seed: int) -> list[Document]:
    """Return the documents to draw from, in corpus order: the first ones in the random order of the seed.

    There are more documents than inputs, since a document may give none, if its only line is over the length limit.
    """
    drawn = nsmallest(
        _FOR_EACH * limit + _AT_LEAST, enumerate(documents), key=lambda each: (_draw(seed, each[1].id, _WHOLE), each[0])
    )
    return [document for _, document in sorted(drawn, key=lambda each: each[0])]


def _draw(seed: int, document: str, index: int) -> bytes:
    return blake2b(f"{seed} {index} {document}".encode(), digest_size=8).digest()
