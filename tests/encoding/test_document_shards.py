"""Shards cut by the length of documents: known without a tokenizer, and tokenized on demand."""

import pickle

import numpy as np
import pytest

from headscope.corpora.document import Document, document_id
from headscope.encoding.segment import Segment
from headscope.encoding.shards import document_shards


def document(ordinal, *lines, **given):
    return Document(id=document_id(f"{ordinal} {lines}".encode()), lines=lines, **given)


def segment(of, index, length):
    zeros = np.zeros(length, dtype=np.int64)
    return Segment(document=of, index=index, ids=zeros, token_types=zeros, word_ids=zeros)


class Pack:
    """Make an input of each line, and record the documents."""

    def __init__(self):
        self.documents = []

    def __call__(self, documents):
        self.documents += [each.id for each in documents]
        return [segment(each.id, i, len(line)) for each in documents for i, line in enumerate(each.lines)]


def made(documents, tokens):
    pack = Pack()
    return list(document_shards(documents, pack, tokens=tokens)), pack


def places(shards):
    return [[(each.document, each.index) for each in shard.segments] for shard in shards]


def test_a_shard_ends_with_the_document_that_fills_it():
    given = [document(n, "four", "four") for n in range(5)]  # of 8 bytes each
    shards, pack = made(given, 3)
    assert pack.documents == []
    assert [shard.number for shard in shards] == [0, 1, 2]
    ids = [each.id for each in given]
    assert places(shards) == [[(n, i) for n in some for i in range(2)] for some in (ids[:2], ids[2:4], ids[4:])]
    assert pack.documents == ids


def test_what_is_passed_over_is_not_made():
    given = [document(n, "four", "four") for n in range(6)]
    shards, pack = made(given, 3)
    assert len(shards[1].segments) == 4
    assert shards[1].segments == shards[1].segments
    assert pack.documents == [given[2].id, given[3].id]
    assert [shard.is_made for shard in shards] == [False, True, False]


@pytest.mark.parametrize("lines", [5, 20, 23])
def test_a_long_document_fills_several_and_is_made_once(lines):
    given = [document(0, "a"), document(1, *["four"] * lines), document(2, "b")]
    shards, pack = made(given, 2)  # 8 bytes; at most 16 per shard
    of = -(-4 * lines // 16)
    assert [shard.number for shard in shards] == list(range(of + 2))
    found = places(shards)
    assert [place for some in found[1:-1] for place in some] == [(given[1].id, i) for i in range(lines)]
    assert max(map(len, found[1:-1])) - min(map(len, found[1:-1])) <= 1
    assert pack.documents == [each.id for each in given]


def test_where_a_shard_ends_does_not_depend_on_what_is_made():
    given = [document(n, "x" * (n % 7 + 1), "y" * (n % 50)) for n in range(60)]
    whole, _ = made(given, 6)
    everything = places(whole)
    for chosen in range(len(whole)):
        shards, _ = made(given, 6)
        assert [shard.digest for shard in shards] == [shard.digest for shard in whole]
        assert places([shards[chosen]]) == [everything[chosen]]


def test_the_hash_tells_the_text_and_its_place():
    base = [document(0, "one"), document(1, "two")]
    others = [[document(0, "one"), document(1, "too")], [document(0, "one")], [document(1, "one"), document(0, "two")]]
    digests = {made(given, 100)[0][0].digest for given in (base, *others)}
    assert len(digests) == 4
    assert made(base, 100)[0][0].digest in digests
    long = [document(0, *["four"] * 20)]
    assert len({shard.digest for shard in made(long, 2)[0]}) == 5


def test_bytes_count_and_not_characters():
    given = [document(n, "\u3042" * 4) for n in range(4)]  # three bytes per character
    assert len(made(given, 3)[0]) == 4
    assert len(made([document(n, "aaaa") for n in range(4)], 3)[0]) == 2


def test_words_and_tokens_count_too():
    given = [Document(id=str(n), words=("four", "four")) for n in range(4)]
    assert len(list(document_shards(given, list, tokens=2))) == 4
    given = [Document(id=str(n), tokens=("a", "b")) for n in range(4)]
    assert len(list(document_shards(given, list, tokens=2))) == 4


def test_to_another_process_a_shard_goes_with_its_inputs():
    (shard,), _ = made([document(0, "one", "two")], 100)
    there = pickle.loads(pickle.dumps(shard))
    assert (there.number, there.is_made) == (0, True)
    assert places([there]) == places([shard])
