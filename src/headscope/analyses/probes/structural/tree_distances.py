"""Distances between the words of a tree, and the tree that lies closest to given distances."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def tree_distances(heads: Sequence[int]) -> NDArray[np.int32]:
    """Return the number of arcs between every two words, `[word, word]`.

    Args:
        heads: position of each word's head, from 1; 0 for the root; a single tree (`corpora.trees.tree.check_tree`).
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import shortest_path

    above = np.array(heads, dtype=np.int64) - 1
    (words,) = np.nonzero(above >= 0)
    arcs = csr_array((np.ones(len(words)), (words, above[words])), shape=(len(heads), len(heads)))
    apart = shortest_path(arcs, method="D", directed=False, unweighted=True)
    return np.asarray(apart, dtype=np.int32)


def closest_trees(distances: NDArray[np.floating], included: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the minimum spanning trees over some words of each sentence, `[sentence, word, word]`, lower word first.

    Args:
        distances: between every two words, symmetric and not negative, `[sentence, word, word]`.
        included: True for the words that a tree spans, `[sentence, word]`.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    number, words = included.shape
    pairs = np.triu(included[:, :, None] & included[:, None], k=1)
    item, low, high = pairs.nonzero()
    # One graph holds all sentences, because unconnected parts give separate trees. scipy reads 0 as no arc; adding 1 to
    # every arc changes no tree.
    weights = distances[pairs].astype(np.float64) + 1
    nodes = number * words
    graph = csr_array((weights, (item * words + low, item * words + high)), shape=(nodes, nodes))
    spanning = minimum_spanning_tree(graph).tocoo()
    trees = np.zeros((number, words, words), dtype=bool)
    trees[spanning.row // words, spanning.row % words, spanning.col % words] = True
    return trees
