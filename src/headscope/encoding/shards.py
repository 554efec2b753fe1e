"""A stream of inputs in shards: what a scan keeps its sums by, and what several machines divide among themselves.

Where a shard ends follows from the inputs alone, not from time or machine: sums are made for each shard by itself and
joined in the order of the shards, so that it changes no digit who computed which, or where a run was stopped.
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
"""A shard ends with the document that brings it to so many tokens, or to about so many where only text is known."""
MOST = 2
"""Times as many, where one document goes on and on."""


class Shard:
    """Consecutive inputs, made when they are asked for: whoever passes a shard over need not make them.

    Args:
        number: which it is, from 0.
        made: its inputs, in the order of the stream, or what makes them.
        digest: a hash that stands for them; made of them when None.
    """

    def __init__(
        self, number: int, inputs: Sequence[Segment] | Callable[[], Sequence[Segment]], *, digest: str | None = None
    ) -> None:
        self.number = number
        self._made, self._digest = inputs, digest

    @property
    def is_made(self) -> bool:
        """Whether its inputs are there."""
        return not callable(self._made)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Its inputs."""
        if callable(self._made):
            self._made = self._made()
        return tuple(self._made)

    @cached_property
    def digest(self) -> str:
        """Hash of what the model reads, or of the text that it is made of: 32 hex digits."""
        if self._digest is not None:
            return self._digest
        digest = blake2b(digest_size=16)
        for segment in self.segments:
            digest.update(f"{segment.document} {segment.index} {len(segment)}\n".encode())
            for array in (segment.ids, segment.token_types, segment.word_ids):
                digest.update(array.tobytes())
        return digest.hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        # To another process it goes with its inputs, for what makes them stays here.
        return Shard, (self.number, self.segments)


Inputs = Iterable[Segment] | Iterable[Shard]


class ShardedBatches:
    """Batches of similar length, shard by shard; can be gone through once.

    Args:
        segments: the inputs, or the shards that they come in.
        batch_size: inputs in a batch at most.
        limit: what memory has room for; one of its own when None.
    """

    def __init__(self, segments: Inputs, *, batch_size: int, limit: BatchLimit | None = None) -> None:
        self._segments = segments
        self.batch_size, self.limit = batch_size, limit or BatchLimit()

    def shards(self) -> Iterator[Shard]:
        """Yield the shards; one at a time is held."""
        items: Iterator[Any] = iter(self._segments)
        first = next(items, None)
        if first is not None:  # it says what all of them are
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
        segments: the inputs, those of a document together.
        tokens: with how many a shard ends, at the end of a document; `SHARD_TOKENS` when None.
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
