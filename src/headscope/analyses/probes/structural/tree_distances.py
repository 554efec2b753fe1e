"""Distances between the words of a tree, and the tree that lies closest to given distances."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def tree_distances(heads: Sequence[int]) -> NDArray[np.int32]:
    """Return how many arcs lie between every two words, `[word, word]`.

    Args:
        heads: position of each word's head, from 1; 0 for the root; one tree (`corpora.trees.check_tree`).
    """
    number = len(heads)
    order = _from_the_root(heads)
    place = np.empty(number, dtype=np.int64)
    place[order] = np.arange(number)
    distances = np.zeros((number, number), dtype=np.int32)  # in that order, and so without gaps to skip
    for at, word in enumerate(order[1:], 1):
        # All paths to what came before lead over the head.
        distances[at, :at] = distances[place[heads[word] - 1], :at] + 1
        distances[:at, at] = distances[at, :at]
    return distances[np.ix_(place, place)]


def _from_the_root(heads: Sequence[int]) -> list[int]:
    """Order the words so that each comes after its head."""
    dependents: list[list[int]] = [[] for _ in range(len(heads) + 1)]
    for word, head in enumerate(heads):
        dependents[head].append(word)
    order = list(dependents[0])
    for word in order:  # grows while it is walked
        order += dependents[word + 1]
    return order


def closest_trees(distances: NDArray[np.floating], own: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the minimum spanning trees over some words of each sentence, `[sentence, word, word]`, lower word first.

    Args:
        distances: between every two words, symmetric and not negative, `[sentence, word, word]`.
        own: the words that the trees are over, `[sentence, word]`.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    number, words = own.shape
    pairs = np.triu(own[:, :, None] & own[:, None], k=1)
    item, low, high = pairs.nonzero()
    # One graph for all: what is not connected gives a tree of its own. scipy takes 0 for no arc; one more on every
    # arc changes no tree.
    weights = distances[pairs].astype(np.float64) + 1
    nodes = number * words
    graph = csr_array((weights, (item * words + low, item * words + high)), shape=(nodes, nodes))
    found = minimum_spanning_tree(graph).tocoo()
    trees = np.zeros((number, words, words), dtype=bool)
    trees[found.row // words, found.row % words, found.col % words] = True
    return trees
