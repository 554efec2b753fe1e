"""Samples by hash: the definition of the hash, and that neither order nor parts matter."""

import re

import numpy as np
import pytest

from headscope.statistics.sums.hash_sample import SAMPLED, HashSample
from headscope.statistics.sums.row_selection import row_hashes, segment_key, token_hashes
from support.hashes import plain_hash

ITEM = np.dtype([*SAMPLED, ("value", np.float32, 3)])


def test_a_hash_is_what_it_is_said_to_be():
    keys = np.array([segment_key("a", 0, seed=7), segment_key("b", 3, seed=7)], dtype=np.uint64)
    found = row_hashes(keys, np.array([[0, 5], [2, 1000]]), kind="decoder", layer=4, heads=3)
    assert found.shape == (2, 3, 2)
    assert int(found[1, 2, 1]) == plain_hash("b", 3, 1000, "decoder", 4, 2, seed=7)
    assert int(found[0, 0, 0]) == plain_hash("a", 0, 0, "decoder", 4, 0, seed=7)
    assert segment_key("a", 0, seed=8) != keys[0]


def test_hashes_are_spread_evenly():
    keys = np.array([segment_key("a", 0, seed=0)], dtype=np.uint64)
    found = row_hashes(keys, np.arange(4096)[None], kind="encoder", layer=0, heads=16).reshape(-1)
    assert len(np.unique(found)) == len(found)
    for shift in (0, 30, 60):  # in low, middle and high bits
        number = np.bincount((found >> np.uint64(shift) & np.uint64(15)).astype(int), minlength=16)
        assert abs(number - 4096).max() < 5 * np.sqrt(4096)


def test_however_many_come_few_are_held():
    rng = np.random.default_rng(2)
    kept = HashSample(ITEM, most=3, cells=5)
    everything = []
    for batch in range(40):
        rows = np.zeros(500, dtype=ITEM)
        rows["cell"], rows["hash"] = rng.integers(0, 5, 500), rng.integers(0, 2**63, 500)
        rows["segment"] = rng.integers(0, 4, 500)
        everything.append(rows)
        kept.offer(rows, [(f"doc{batch}", at) for at in range(4)])
    found, segments = kept.sampled().items, kept.sampled().segments
    whole = np.concatenate(everything)
    for place in range(5):
        expected = np.sort(whole["hash"][whole["cell"] == place])[:3]
        np.testing.assert_array_equal(found["hash"][found["cell"] == place], expected)
        assert kept.least[place] == expected[-1]
    assert len(segments) <= 15


def items_of(rng, number, *, cells):
    items = np.zeros(number, dtype=ITEM)
    items["cell"], items["hash"] = rng.integers(0, cells, number), rng.integers(0, 2**63, number)
    items["segment"], items["value"] = rng.integers(0, 6, number), rng.normal(size=(number, 3))
    return items, {"wide": np.repeat(items["hash"].astype(np.float64)[:, None], 2000, axis=1)}


def same(left, right):
    left, right = left.sampled(), right.sampled()
    np.testing.assert_array_equal(left.items, right.items)
    assert left.segments == right.segments
    assert left.vectors.keys() == right.vectors.keys()
    for name, array in left.vectors.items():
        np.testing.assert_array_equal(array, right.vectors[name])


def test_order_parts_and_states_do_not_matter_and_vectors_stay_with_their_items():
    rng = np.random.default_rng(3)
    items, vectors = items_of(rng, 400, cells=3)
    names = [(f"doc{number}", number) for number in range(6)]
    whole = HashSample(ITEM, most=7, cells=3)
    whole.offer(items, names, vectors)
    np.testing.assert_array_equal(
        whole.sampled().vectors["wide"][:, 0], whole.sampled().items["hash"].astype(np.float64)
    )
    assert len(whole.sampled().items) == 21
    merged = HashSample(ITEM, most=7, cells=3)
    for part in np.array_split(rng.permutation(400), 5):
        shard = HashSample(ITEM, most=7, cells=3)
        for batch in np.array_split(part, 9):
            below = batch[items["hash"][batch] < shard.least[items["cell"][batch]]]
            shard.offer(items[below], names, {"wide": vectors["wide"][below]})
        restored = HashSample(ITEM, most=7, cells=3)
        restored.restore(shard.state())
        same(restored, shard)
        merged.merge(restored)
    same(merged, whole)


def test_vectors_of_another_model_are_refused():
    items, vectors = items_of(np.random.default_rng(4), 5, cells=1)
    sample = HashSample(ITEM, most=9)
    sample.offer(items, [("a", number) for number in range(6)], vectors)
    message = "expected vectors of 1 layers and sides, came 0; merge scans of one model only"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        sample.offer(items, [("a", number) for number in range(6)])


def test_a_token_has_one_hash_for_all_heads():
    keys = np.array([segment_key("a", 0, seed=1)], dtype=np.uint64)
    found = token_hashes(keys, np.array([[3, 9]]))
    assert int(found[0, 1]) == plain_hash("a", 0, 9, "encoder", 0, 0, seed=1)
