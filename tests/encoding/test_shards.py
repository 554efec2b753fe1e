"""Shards: their ends depend on the inputs alone, and together they are all inputs in order."""

from dataclasses import replace

import numpy as np
import pytest

from headscope.encoding import shards as module
from headscope.encoding.segment import Segment
from headscope.encoding.shards import ShardedBatches, shards


def segment(document, index, length):
    zeros = np.zeros(length, dtype=np.int64)
    return Segment(document=document, index=index, ids=zeros + index, token_types=zeros, word_ids=zeros)


def places(made):
    return [[f"{each.document}{each.index}" for each in shard.segments] for shard in made]


def test_a_shard_ends_with_the_document_that_fills_it():
    given = [segment(document, index, 4) for document in "abcd" for index in range(2)]
    made = list(shards(given, tokens=12))
    assert places(made) == [["a0", "a1", "b0", "b1"], ["c0", "c1", "d0", "d1"]]
    assert [shard.number for shard in made] == [0, 1]
    assert places(shards(given, tokens=1)) == [["a0"], ["a1"], ["b0"], ["b1"], ["c0"], ["c1"], ["d0"], ["d1"]]
    assert places(shards(given, tokens=33)) == [[f"{d}{i}" for d in "abcd" for i in range(2)]]
    assert list(shards([])) == []


def test_a_document_without_end_is_cut_at_twice_the_tokens():
    given = [segment("a", index, 5) for index in range(7)]
    assert [len(shard.segments) for shard in shards(given, tokens=10)] == [4, 3]


def test_the_hash_of_a_shard_tells_what_is_read():
    one = segment("a", 0, 4)
    first = next(shards([one])).digest
    others = [
        replace(one, document="b"),
        replace(one, index=1),
        replace(one, ids=one.ids + 1),
        replace(one, token_types=one.token_types + 1),
        replace(one, word_ids=one.word_ids + 1),
    ]
    assert len({first, *(next(shards([other])).digest for other in others)}) == 6
    assert next(shards([segment("a", 0, 4)])).digest == first
    # The digest also covers the borders between inputs.
    assert next(shards([segment("a", 0, 2), segment("a", 0, 2)])).digest != first


@pytest.mark.parametrize("tokens", [1, 9, 1000])
def test_batches_are_those_of_the_shards_one_after_another(monkeypatch, tokens):
    monkeypatch.setattr(module, "SHARD_TOKENS", tokens)
    given = [segment(document, index, 2 + index) for document in "abc" for index in range(3)]
    found = list(ShardedBatches(iter(given), batch_size=2))
    assert sorted(f"{s.document}{s.index}" for batch in found for s in batch) == sorted(
        f"{s.document}{s.index}" for s in given
    )
    assert all(1 <= len(batch) <= 2 for batch in found)
    sharded = ShardedBatches(iter(given), batch_size=2)
    again = [batch for shard in sharded.shards() for batch in sharded.of(shard)]
    assert [[id(s) for s in batch] for batch in again] == [[id(s) for s in batch] for batch in found]
