"""Distances in trees by hand and by the ways to the root; the closest tree by trying all trees."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.csgraph import connected_components

from headscope.analyses.probes.structural.tree_scores import closest_trees, tree_distances
from support.trees import random_tree


def test_a_tree_drawn_by_hand():
    # the -> cat -> sat <- mat <- {on, the}
    heads = (2, 3, 0, 6, 6, 3)
    assert tree_distances(heads).tolist() == [
        [0, 1, 2, 4, 4, 3],
        [1, 0, 1, 3, 3, 2],
        [2, 1, 0, 2, 2, 1],
        [4, 3, 2, 0, 2, 1],
        [4, 3, 2, 2, 0, 1],
        [3, 2, 1, 1, 1, 0],
    ]
    assert tree_distances((0,)).tolist() == [[0]]
    assert tree_distances(()).shape == (0, 0)


@given(st.integers(1, 30), st.integers(0, 1000))
def test_distances_are_the_ways_up_that_two_words_do_not_share(words, seed):
    heads, _ = random_tree(words, np.random.default_rng(seed))
    ways = []
    for word in range(1, words + 1):
        way = [word]
        while heads[way[-1] - 1]:
            way.append(heads[way[-1] - 1])
        ways.append(set(way))
    apart = [[len(a ^ b) for b in ways] for a in ways]
    np.testing.assert_array_equal(tree_distances(heads), apart)


def all_trees(nodes):
    """Every tree over some nodes: all sets of one arc fewer than nodes that connect them."""
    pairs = list(combinations(nodes, 2))
    for arcs in combinations(pairs, len(nodes) - 1):
        graph = np.zeros((max(nodes) + 1,) * 2)
        for low, high in arcs:
            graph[low, high] = 1
        labels = connected_components(graph, directed=False)[1][list(nodes)]
        if len(set(labels)) == 1:
            yield arcs


@pytest.mark.parametrize("seed", range(3))
def test_the_closest_tree_is_the_lightest_of_all(seed):
    rng = np.random.default_rng(seed)
    distances = rng.random((3, 5, 5))
    distances = distances + distances.transpose(0, 2, 1)
    own = np.ones((3, 5), dtype=bool)
    own[1, [0, 3]] = False
    own[2, 1:] = False
    found = closest_trees(distances, own)
    for sentence in (0, 1):
        lightest = min(
            all_trees(np.flatnonzero(own[sentence]).tolist()),
            key=lambda arcs: sum(distances[sentence][arc] for arc in arcs),
        )
        assert {(int(a), int(b)) for a, b in zip(*found[sentence].nonzero())} == set(lightest)
    assert not found[2].any()


def test_a_distance_of_zero_is_an_arc_like_others():
    distances = np.array([[[0.0, 0.0, 2.0], [0.0, 0.0, 1.0], [2.0, 1.0, 0.0]]])
    found = closest_trees(distances, np.ones((1, 3), dtype=bool))
    assert found[0].nonzero()[0].tolist() == [0, 1]
    assert found[0].nonzero()[1].tolist() == [1, 2]
