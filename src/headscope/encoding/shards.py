"""A stream of inputs in shards: the units for which a scan keeps its sums, and which several machines share.

The end of a shard depends only on the inputs, not on time or machine: sums are computed for each shard separately and
joined in the order of the shards, so that no digit depends on who computed which shard, or where a run was stopped.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from typing import Any

from headscope.encoding.batch_limit import BatchLimit
from headscope.encoding.batching import length_buckets
from headscope.encoding.segment import Segment

SHARD_TOKENS = 1 << 17
"""A shard ends with the document that brings it to this many tokens, or to about this many if only text is known."""
MOST = 2
"""Maximum size of a shard as a multiple, if one document is very long."""


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
