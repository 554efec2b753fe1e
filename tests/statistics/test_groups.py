"""Sums by groups of documents: places of a sum, folding, merging, whole numbers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.statistics.sums.groups import GROUPS, GroupedSums, group_of

SHAPES = {"n_hits": (5, 2), "share": (3,)}


def test_adding_at_places_is_adding_everywhere_else_nothing():
    whole, places = GroupedSums(SHAPES), GroupedSums(SHAPES)
    rng = np.random.default_rng(0)
    for step in range(30):
        document = f"d{step % 4}"
        at = np.sort(rng.permutation(5)[: rng.integers(0, 6)])
        values = rng.integers(0, 9, size=(len(at), 2))
        dense = np.zeros((5, 2))
        dense[at] = values
        whole.add(document, n_hits=dense, share=np.ones(3))
        places.add_at(document, at, n_hits=values)
        places.add_at(document, np.array([2, 0]), share=np.array([1.0, 1.0]))
        places.add_at(document, np.array([1]), share=np.array([1.0]))
    for name in SHAPES:
        np.testing.assert_array_equal(places.stacked()[name], whole.stacked()[name])


def test_counts_are_whole_numbers_and_other_sums_are_exact():
    sums = GroupedSums(SHAPES)
    sums.add_at("d", np.array([4]), n_hits=np.array([[7, 0]], dtype=np.int64))
    sums.add_at("d", np.array([4]), n_hits=np.array([[1, 2]], dtype=np.int32))
    for _ in range(10):
        sums.add_at("d", np.array([0]), share=np.array([0.1]))
    stacked = sums.stacked()
    assert stacked["n_hits"].dtype == np.int32
    assert stacked["n_hits"][0, 4].tolist() == [8, 2]
    assert stacked["share"].dtype == np.float64
    assert stacked["share"][0, 0] == pytest.approx(1.0, abs=1e-15)
    # Beyond what float32 counts one by one.
    sums.add("d", n_hits=np.full((5, 2), (1 << 24) + 1))
    assert sums.stacked()["n_hits"][0, 4, 0] == (1 << 24) + 9


def test_the_input_is_not_kept():
    sums, given = GroupedSums(SHAPES), np.ones((5, 2), dtype=np.int32)
    sums.add("d", n_hits=given)
    given[:] = 9
    assert (sums.stacked()["n_hits"] == 1).all()
    sums.stacked()["n_hits"][:] = 5
    assert (sums.stacked()["n_hits"] == 1).all()


@settings(max_examples=40)
@given(
    order=st.permutations(range(14)),
    cut=st.integers(0, 14),
    groups=st.sampled_from([3, 8, 14, 20]),
    backwards=st.booleans(),
    through_state=st.booleans(),
)
def test_any_order_and_split_give_the_same(order, cut, groups, backwards, through_state):
    rng = np.random.default_rng(1)
    documents = [f"d{i % 11}" for i in range(14)]
    hits, shares = rng.integers(0, 9, size=(14, 2, 2)), rng.random(size=(14, 3))

    def of(chosen):
        sums = GroupedSums(SHAPES, groups=groups)
        for i in chosen:
            sums.add_at(documents[i], np.array([i % 5, (i + 2) % 5]), n_hits=hits[i])
            sums.add(documents[i], share=shares[i])
        return GroupedSums.from_state(sums.state()) if through_state else sums

    first, second = of(order[:cut]), of(order[cut:])
    if backwards:
        first, second = second, first
    first.merge(second)
    whole = of(range(14)).stacked()
    assert len(first) == (11 if groups >= 11 else len({group_of(d, groups) for d in documents}))
    assert first.folded == (groups < 11)
    np.testing.assert_array_equal(first.stacked()["n_hits"], whole["n_hits"])
    np.testing.assert_allclose(first.stacked()["share"], whole["share"], atol=1e-12)
    assert whole["n_hits"].sum() == hits.sum()
    assert first.stacked()["n_hits"].dtype == np.int32


def test_a_document_after_folding_joins_its_group():
    sums = GroupedSums(SHAPES, groups=2)
    for number in range(9):
        sums.add_at(f"d{number}", np.array([0]), n_hits=np.array([[1, 0]]))
    keys = [group_of(f"d{number}", 2) for number in range(9)]
    assert sums.stacked()["n_hits"][:, 0, 0].tolist() == [keys.count(0), keys.count(1)]


def test_sums_that_were_kept_add_up_to_the_same_digits():
    """Documents that fall into one group are added in one order, also where they came in another."""
    numbers = np.random.default_rng(0).normal(size=60) * 1e3
    documents = [f"{place * 7919 % 60:02}" for place in range(60)]

    def sums(first, last):
        made = GroupedSums({"x": ()}, groups=4)
        for document, number in zip(documents[first:last], numbers[first:last]):
            made.add(document, x=np.array(number))
        return made

    def merged(*parts):
        total = GroupedSums({"x": ()}, groups=4)
        for part in parts:
            total.merge(part)
        return total.stacked()["x"].tobytes()

    # Three or four documents a part: each is kept one by one, and joins a group of the total.
    parts = [sums(first, first + 4) for first in range(0, 60, 4)]
    assert merged(*parts) == merged(*(GroupedSums.from_state(part.state()) for part in parts))


def test_256_documents_are_kept_one_by_one_and_more_in_256_groups():
    sums = GroupedSums(SHAPES)
    for number in range(256):
        sums.add_at(f"d{number}", np.array([0]), n_hits=np.array([[1, 0]]))
    assert (len(sums), sums.folded) == (256, False)
    sums.add_at("d256", np.array([0]), n_hits=np.array([[1, 0]]))
    assert sums.folded
    assert len(sums) == len({group_of(f"d{number}", 256) for number in range(257)})
    assert sums.stacked()["n_hits"].sum() == 257


def test_documents_fall_into_all_groups():
    counts = np.bincount([group_of(f"document {i}") for i in range(20 * GROUPS)], minlength=GROUPS)
    assert len(counts) == GROUPS
    assert counts.min() > 2
    assert counts.max() < 50


def test_nothing_yet():
    sums = GroupedSums(SHAPES)
    assert {name: array.shape for name, array in sums.stacked().items()} == {"n_hits": (0, 5, 2), "share": (0, 3)}
    assert len(GroupedSums.from_state(sums.state())) == 0
