"""A stream of inputs in shards: what a scan keeps its sums by, and what several machines divide among themselves.

Where a shard ends follows from the inputs alone, not from time or machine: sums are made for each shard by itself and
joined in the order of the shards, so that it changes no digit who computed which, or where a run was stopped.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

from headscope.encoding.batching import length_buckets
from headscope.encoding.segment import Segment

SHARD_TOKENS = 1 << 17
"""A shard ends with the document that brings it to so many tokens: a minute of BERT-base on two cores."""
_MOST = 2  # times as many, where one document goes on and on


@dataclass(frozen=True)
class Shard:
    """Consecutive inputs.

    Attributes:
        number: which it is, from 0.
        segments: its inputs, in the order of the stream.
    """

    number: int
    segments: tuple[Segment, ...]

    @cached_property
    def digest(self) -> str:
        """Hash of what the model reads: 32 hex digits."""
        digest = blake2b(digest_size=16)
        for segment in self.segments:
            digest.update(f"{segment.document} {segment.index} {len(segment)}\n".encode())
            for array in (segment.ids, segment.token_types, segment.word_ids):
                digest.update(array.tobytes())
        return digest.hexdigest()


class ShardedBatches:
    """Batches of similar length, shard by shard; can be gone through once.

    Args:
        segments: the inputs.
        batch_size: inputs in a batch at most.
    """

    def __init__(self, segments: Iterable[Segment], *, batch_size: int) -> None:
        self._segments = segments
        self.batch_size = batch_size

    def shards(self) -> Iterator[Shard]:
        """Yield the shards; one at a time is held."""
        return shards(self._segments)

    def of(self, shard: Shard) -> Iterator[list[Segment]]:
        """Yield the batches of a shard."""
        return length_buckets(shard.segments, batch_size=self.batch_size)

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
    number, held, own = 0, 0, list[Segment]()
    for segment in segments:
        goes_on = bool(own) and segment.document == own[-1].document
        if held >= (enough * _MOST if goes_on else enough):
            yield Shard(number, tuple(own))
            number, held, own = number + 1, 0, []
        own.append(segment)
        held += len(segment)
    if own:
        yield Shard(number, tuple(own))
