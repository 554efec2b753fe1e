"""The tree that shards are joined in: one order of adding, whoever adds."""

import numpy as np
import pytest

from headscope.scans.shard_sums import TOGETHER, ShardSums, SumsTree, joined
from headscope.statistics.sums.accumulator import Accumulator


class Numbers(Accumulator):
    """Stands in for what adds up more: one float32, in which the order of adding shows."""

    def __init__(self, value=0.0):
        self.value = np.float32(value)

    def declare(self):
        return {}

    def update(self, tile):
        raise AssertionError

    def compute(self):
        return self.value

    @classmethod
    def with_settings(cls, layout, settings):
        return cls()

    def settings(self):
        return {}

    @classmethod
    def from_state(cls, state):
        return cls(state["value"][0])

    def state(self):
        return {"value": np.array([self.value])}

    def merge(self, other):
        self.value = self.value + other.value


def sums(value=0.0):
    return ShardSums([Numbers(value)], None)


def values(number):
    return np.random.default_rng(number).normal(size=number).astype(np.float32) * 1e3


def by_recursion(given):
    """The same tree, written the other way round: whole nodes from the left, the largest first."""

    def node(some):
        if len(some) == 1:
            return some[0]
        size = len(some) // TOGETHER
        total = node(some[:size])
        for place in range(size, len(some), size):
            total = np.float32(total + node(some[place : place + size]))
        return total

    total, place = np.float32(0), 0
    size = TOGETHER**4
    while size:
        held = None
        while len(given) - place >= size:
            own = node(given[place : place + size])
            held, place = own if held is None else np.float32(held + own), place + size
        total = total if held is None else np.float32(total + held)
        size //= TOGETHER
    return total


@pytest.mark.parametrize("number", [1, 7, 8, 9, 63, 64, 65, 200, 513])
def test_the_tree_joins_as_its_recursion_says(number):
    given, total = values(number), sums()
    tree = SumsTree(total)
    for value in given:
        tree.add(sums(value))
        assert len(tree.state()) <= 1 + np.log(tree.shards) / np.log(TOGETHER)
    tree.join()
    assert tree.shards == number
    (found,) = total.accumulators
    assert found.value == by_recursion(given)


def test_another_order_gives_other_digits():
    """Else the test above says nothing."""
    given = values(200)
    one_by_one = np.float32(0)
    for value in given:
        one_by_one = np.float32(one_by_one + value)
    assert one_by_one != by_recursion(given)


@pytest.mark.parametrize("stop", [1, 8, 13, 72, 100])
def test_kept_and_read_and_joined_elsewhere_it_is_the_same_tree(stop):
    given, total = values(150), sums()
    tree = SumsTree(sums())
    for value in given[:stop]:
        tree.add(sums(value))
    tree = SumsTree.read(total, tree.state(), shards=tree.shards)
    place = stop
    while place < len(given):
        some = given[place : place + TOGETHER]
        if place % TOGETHER == 0 and len(some) == TOGETHER:
            tree.add(total.read(joined(total, [sums(value).state() for value in some])), level=1)
            place += TOGETHER
        else:
            tree.add(sums(given[place]))
            place += 1
    tree.join()
    (found,) = total.accumulators
    assert found.value == by_recursion(given)


def test_a_node_out_of_place_is_refused():
    tree = SumsTree(sums(), shards=3)
    with pytest.raises(ValueError, match="found 3 shards"):
        tree.add(sums(1.0), level=1)
