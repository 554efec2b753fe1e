"""Shards: parts of a corpus that are computed one after another or side by side, and their batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, partial
from hashlib import blake2b
from itertools import chain
from typing import Any

from headscope.corpora.document import Document
from headscope.encoding.batching import length_buckets
from headscope.encoding.segment import Segment
from headscope.errors import MemoryShortError

SHARD_TOKENS = 1 << 17
"""A shard ends with the document that brings it to this many tokens, or to about this many if only text is known."""
MOST = 2
"""Maximum size of a shard as a multiple, if one document is very long."""
BYTES = 4
"""Approximate bytes per token: an estimate of the number of tokens before tokenizing."""
Pack = Callable[[Sequence[Document]], Sequence[Segment]]


class BatchLimit:
    """A limit on the batch size: none at first, then halved each time that memory runs out.

    Attributes:
        most: maximum number of inputs computed together; None if memory never ran out.
    """

    def __init__(self) -> None:
        self.most: int | None = None
        self._first: int | None = None

    def size(self, size: int) -> int:
        """Return the number of inputs of a batch of `size` inputs that are computed together."""
        return size if self.most is None else min(size, self.most)

    def halve(self, error: MemoryShortError) -> None:
        """Lower the limit after memory ran out.

        Raises:
            MemoryShortError: memory ran out with a single input.
        """
        if error.inputs == 1:
            raise error
        self._first = self._first or error.inputs
        self.most = error.inputs // 2

    @property
    def note(self) -> str | None:
        """Message about the limit for the user; None if there is none."""
        if self.most is None:
            return None
        return f"memory ran out with {self._first} inputs computed together; it went on with {self.most} (--batch-size)"


class Shard:
    """Consecutive inputs, made on first use: code that passes a shard on need not make them.

    Args:
        number: number of the shard, from 0.
        inputs: its inputs, in the order of the stream, or a function that makes them.
        digest: a hash that identifies the inputs; computed from them if None.
    """

    def __init__(
        self, number: int, inputs: Sequence[Segment] | Callable[[], Sequence[Segment]], *, digest: str | None = None
    ) -> None:
        self.number = number
        self._made, self._digest = inputs, digest

    @property
    def is_made(self) -> bool:
        """Whether its inputs are already made."""
        return not callable(self._made)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Inputs of the shard."""
        if callable(self._made):
            self._made = self._made()
        return tuple(self._made)

    @cached_property
    def digest(self) -> str:
        """Hash of the model's inputs, or of the text that they are made from: 32 hex digits."""
        if self._digest is not None:
            return self._digest
        digest = blake2b(digest_size=16)
        for segment in self.segments:
            digest.update(f"{segment.document} {segment.index} {len(segment)}\n".encode())
            for array in (segment.ids, segment.token_types, segment.word_ids):
                digest.update(array.tobytes())
        return digest.hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        # A shard is sent to another process with its inputs, because the function that makes them stays here.
        return Shard, (self.number, self.segments)


Inputs = Iterable[Segment] | Iterable[Shard]


class ShardedBatches:
    """Batches of inputs of similar length, shard by shard; can be iterated once.

    Args:
        segments: the inputs, or their shards.
        batch_size: maximum number of inputs in a batch.
        limit: batch size limit set by memory; a new one if None.
    """

    def __init__(self, segments: Inputs, *, batch_size: int, limit: BatchLimit | None = None) -> None:
        self._segments = segments
        self.batch_size, self.limit = batch_size, limit or BatchLimit()

    def shards(self) -> Iterator[Shard]:
        """Yield the shards; only one is kept in memory."""
        items: Iterator[Any] = iter(self._segments)
        first = next(items, None)
        if first is not None:  # all items have the type of the first
            together = chain([first], items)
            yield from together if isinstance(first, Shard) else shards(together)

    def of(self, shard: Shard) -> Iterator[list[Segment]]:
        """Yield the batches of a shard."""
        return length_buckets(shard.segments, batch_size=self.limit.size(self.batch_size))

    def __iter__(self) -> Iterator[list[Segment]]:
        for shard in self.shards():
            yield from self.of(shard)


def shards(segments: Iterable[Segment], *, tokens: int | None = None) -> Iterator[Shard]:
    """Cut a stream of inputs into shards.

    Args:
        segments: the inputs; those of a document are consecutive.
        tokens: number of tokens at which a shard ends, at the end of a document; `SHARD_TOKENS` if None.
    """
    enough = tokens or SHARD_TOKENS
    number, n_tokens, pending = 0, 0, list[Segment]()
    for segment in segments:
        goes_on = bool(pending) and segment.document == pending[-1].document
        if n_tokens >= (enough * MOST if goes_on else enough):
            yield Shard(number, pending)
            number, n_tokens, pending = number + 1, 0, []
        pending.append(segment)
        n_tokens += len(segment)
    if pending:
        yield Shard(number, pending)


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
    enough = BYTES * (tokens or SHARD_TOKENS)
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
