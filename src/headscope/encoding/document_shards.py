"""Documents in shards, cut by length before tokenizing: a machine that computes some shards tokenizes only these."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from hashlib import blake2b

from headscope.corpora.document import Document
from headscope.encoding import shards
from headscope.encoding.segment import Segment
from headscope.encoding.shards import MOST, Shard

BYTES = 4
"""Approximate bytes per token: an estimate of the number of tokens before tokenizing."""
Pack = Callable[[Sequence[Document]], Sequence[Segment]]


def document_shards(documents: Iterable[Document], pack: Pack, *, tokens: int | None = None) -> Iterator[Shard]:
    """Cut a stream of documents into shards, each made into inputs on first use.

    A shard ends with the document that brings it to about `tokens` tokens. A document of more than twice as many
    fills several shards by itself; its inputs are made together even for one of these shards, as they depend on its
    beginning.

    Args:
        documents: the documents in order; each is made into inputs separately.
        pack: makes inputs from documents.
        tokens: number of tokens at which a shard ends; `SHARD_TOKENS` if None.
    """
    enough = BYTES * (tokens or shards.SHARD_TOKENS)
    number, size_of_pending, pending = 0, 0, list[Document]()
    for document in documents:
        size = _bytes_of(document)
        if pending and (size_of_pending >= enough or size > MOST * enough):
            yield _shard(number, pending, pack)
            number, size_of_pending, pending = number + 1, 0, []
        if size > MOST * enough:
            whole = cache(partial(pack, (document,)))
            of = -(-size // (MOST * enough))
            for slice_index in range(of):
                digest = _digest((document,), f"{slice_index}/{of}")
                yield Shard(number, partial(_slice, whole, slice_index, of), digest=digest)
                number += 1
        else:
            pending.append(document)
            size_of_pending += size
    if pending:
        yield _shard(number, pending, pack)


def _shard(number: int, documents: Sequence[Document], pack: Pack) -> Shard:
    return Shard(number, partial(pack, tuple(documents)), digest=_digest(documents, ""))


def _slice(whole: Callable[[], Sequence[Segment]], index: int, of: int) -> Sequence[Segment]:
    segments = whole()
    return segments[index * len(segments) // of : (index + 1) * len(segments) // of]


def _digest(documents: Sequence[Document], which: str) -> str:
    """Return a hash of documents from their ids, which are hashes of their content."""
    return blake2b("\n".join([which, *(each.id for each in documents)]).encode(), digest_size=16).hexdigest()


def _bytes_of(document: Document) -> int:
    """Return the number of bytes of a document's text in UTF-8."""
    if document.tokens is not None:
        return BYTES * len(document.tokens)
    pieces = document.lines if document.words is None else document.words
    return sum(len(piece) if piece.isascii() else len(piece.encode("utf-8", "surrogatepass")) for piece in pieces)
