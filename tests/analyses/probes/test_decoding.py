"""Trees out of scores: against all trees of small sentences, and against networkx on everything."""

import itertools

import networkx as nx
import numpy as np
import pytest

from headscope.analyses.probes.parsers.decoding import best_tree, is_tree, right_branching


def drawn(rng, size, *, scale=1.0):
    """Log-probabilities of heads; no word is its own."""
    scores = scale * rng.normal(size=(size, size + 1))
    scores[np.arange(size), np.arange(size) + 1] = -np.inf
    return scores - np.log(np.exp(scores).sum(1, keepdims=True))


def total(scores, heads):
    return float(scores[np.arange(len(heads)), heads].sum())


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_the_best_of_all_trees(size):
    rng = np.random.default_rng(size)
    for _ in range(8):
        scores = drawn(rng, size)
        every = (np.array(heads) for heads in itertools.product(range(size + 1), repeat=size))
        wanted = max(total(scores, heads) for heads in every if is_tree(heads) and np.isfinite(total(scores, heads)))
        found = best_tree(scores)
        assert is_tree(found)
        assert total(scores, found) == pytest.approx(wanted)


def test_longer_sentences_against_networkx_with_every_arc():
    rng = np.random.default_rng(0)
    for size in (8, 13, 18):
        scores = drawn(rng, size, scale=3.0)
        graph = nx.DiGraph()
        for dependent, head in itertools.product(range(size), range(size + 1)):
            if head != dependent + 1:
                penalty = 1e4 if head == 0 else 0.0  # one root
                graph.add_edge(head, dependent + 1, weight=scores[dependent, head] - penalty)
        wanted = sum(scores[dependent - 1, head] for head, dependent in nx.maximum_spanning_arborescence(graph).edges)
        found = best_tree(scores.astype(np.float32))
        assert is_tree(found)
        assert total(scores, found) == pytest.approx(wanted, abs=1e-4)
        assert total(scores, scores.argmax(1)) >= total(scores, found)


def test_best_heads_that_are_a_tree_are_the_best_tree():
    scores = np.full((3, 4), -5.0)
    scores[0, 2] = scores[1, 0] = scores[2, 1] = -0.1
    assert best_tree(scores).tolist() == scores.argmax(1).tolist() == [2, 0, 1]


def test_two_roots_become_one_even_where_both_are_likely():
    scores = np.log(np.array([[0.9, 1e-9, 0.1], [0.8, 0.2, 1e-9]]))
    assert scores.argmax(1).tolist() == [0, 0]
    assert best_tree(scores).tolist() == [0, 1]  # 0.9 x 0.2 against 0.1 x 0.8


def test_what_is_a_tree():
    assert is_tree(np.array([2, 0, 2]))
    assert not is_tree(np.array([2, 1, 0]))  # a circle
    assert not is_tree(np.array([0, 0]))  # two roots
    assert not is_tree(np.array([2, 1]))  # none
    assert is_tree(right_branching(200))


def test_right_branching_hangs_the_last_word_on_the_root():
    assert right_branching(4).tolist() == [2, 3, 4, 0]
    assert right_branching(1).tolist() == [0]
