"""From scores to heads: the best head of every word, or the best tree of the sentence."""

import numpy as np
from numpy.typing import NDArray


def greedy(scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return each word's best head, 0 the root and words from 1, the first of equals; `[word]`.

    Args:
        scores: scores of every head, -inf for a word that cannot be the head, `[dependent, 1 + word]`.
    """
    heads: NDArray[np.int64] = scores.argmax(1)
    return heads


def right_branching(words: int) -> NDArray[np.int64]:
    """Return the tree in which the head of every word is the next word, and the last word is the root."""
    return np.append(np.arange(2, words + 1), 0)


def best_tree(scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return the tree with one root that has the highest sum of scores, as heads from 1, 0 the root; `[word]`.

    Chu and Liu 1965, Edmonds 1967, by networkx, which is skipped where the best heads already form a tree. networkx
    gets only the arcs that can be in the best tree: any tree found without it bounds the loss against the sum of the
    best heads, and an arc that alone loses more than this bound is in no better tree.

    Args:
        scores: as in `greedy`; every word must have a finite score, and some word a finite one from the root.
    """
    heads = greedy(scores)
    if is_tree(heads):
        return heads
    import networkx as nx  # type: ignore[import-untyped]

    exact = scores.astype(np.float64)
    loss = exact.max(1, keepdims=True) - exact
    quick = _grown(loss)
    most = loss[np.arange(len(loss)), quick].sum()
    possible = loss <= most + 1e-9
    # An arc from the root costs more than all others together can lose, so the tree has only one.
    cost = np.where(possible, loss, 0.0)
    cost[:, 0] += most + cost.sum() + 1.0
    graph = nx.DiGraph()
    dependents, candidates = np.nonzero(possible)
    graph.add_nodes_from(range(len(heads) + 1))
    graph.add_weighted_edges_from(
        zip(candidates.tolist(), (dependents + 1).tolist(), cost[dependents, candidates].tolist())
    )
    tree = np.zeros(len(heads), dtype=np.int64)
    for head, dependent in nx.minimum_spanning_arborescence(graph).edges:
        tree[dependent - 1] = head
    return tree


def is_tree(heads: NDArray[np.int64]) -> bool:
    """Return True if heads, from 1, form a tree with one root, 0."""
    if (heads == 0).sum() != 1:
        return False
    # Each round doubles the steps walked up; after the last round every word of a tree has reached the root.
    up = np.append(0, heads)
    for _ in range(max(1, len(up).bit_length())):
        up = up[up]
    return not up.any()


def _grown(loss: NDArray[np.float64]) -> NDArray[np.int64]:
    """Grow a tree from the root word with the least loss, always by the arc with the least loss; as heads, `[word]`."""
    words = len(loss)
    heads = np.zeros(words, dtype=np.int64)
    root = int(loss[:, 0].argmin())
    outside = np.ones(words, dtype=bool)
    outside[root] = False
    cheapest, head = loss[:, root + 1].copy(), np.full(words, root + 1)
    for _ in range(words - 1):
        word = int(np.where(outside, cheapest, np.inf).argmin())
        heads[word], outside[word] = head[word], False
        better = loss[:, word + 1] < cheapest
        cheapest[better], head[better] = loss[better, word + 1], word + 1
    return heads
