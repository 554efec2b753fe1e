"""What `--max-inputs` lets in: some inputs of a corpus, spread over its documents.

The first of each document come first, in an order drawn by the seed; a document gives a second only when every other
has given one. Which of its inputs a document gives first is drawn too, since beginnings are not like the rest.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from hashlib import blake2b
from heapq import nsmallest

from headscope.corpora.document import Document

_WHOLE = -1  # stands for the index of an input where a document is ranked
# How many documents are kept to draw inputs from, and how many are read to find these, of how many characters.
_FOR_EACH, _AT_LEAST = 4, 64
_READ_FOR_EACH, _READ_AT_LEAST = 1000, 100_000
_CHARACTERS_FOR_EACH, _CHARACTERS_AT_LEAST = 1 << 16, 1 << 26


def draw_inputs(positions: Iterable[tuple[str, int]], *, limit: int, seed: int) -> frozenset[tuple[str, int]]:
    """Return which of the inputs are drawn: `limit` of them, or all.

    Args:
        positions: of each input, the id of its document and its index there.
        limit: how many to draw.
        seed: of the draw; the order of the documents plays no part in it.
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
    """Return True if a limit on inputs is drawn from the documents read so far, and from none behind them.

    A few kilobytes of Parquet hold 20 million rows, or 2,000 of 12 MB, all of which would be read for four inputs.

    Args:
        documents: how many documents of a corpus were read, from its start.
        characters: how many characters they have.
        limit: how many inputs are wanted; all when None.
    """
    if limit is None:
        return False
    return documents >= max(_READ_AT_LEAST, _READ_FOR_EACH * limit) or characters >= max(
        _CHARACTERS_AT_LEAST, _CHARACTERS_FOR_EACH * limit
    )


def first_documents(documents: Iterable[Document], *, limit: int | None) -> Iterator[Document]:
    """Yield the documents of a corpus until they are enough for a limit on inputs (`read_enough`)."""
    characters = 0
    for number, document in enumerate(documents, 1):
        yield document
        characters += characters_of(document)
        if read_enough(number, characters, limit=limit):
            return


def characters_of(document: Document) -> int:
    """Return the number of characters that a model reads of a document."""
    return sum(map(len, document.text()))


def draw_documents(documents: Iterable[Document], *, limit: int, seed: int) -> list[Document]:
    """Return the documents to draw from, as they follow one another: the first in the order of the seed.

    More than one for each input, since a document may give none: its only line may be over the length.
    """
    drawn = nsmallest(
        _FOR_EACH * limit + _AT_LEAST, enumerate(documents), key=lambda each: (_draw(seed, each[1].id, _WHOLE), each[0])
    )
    return [document for _, document in sorted(drawn, key=lambda each: each[0])]


def _draw(seed: int, document: str, index: int) -> bytes:
    return blake2b(f"{seed} {index} {document}".encode(), digest_size=8).digest()
