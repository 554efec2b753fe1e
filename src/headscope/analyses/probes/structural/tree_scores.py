"""Distances in trees, and scores of predicted distances: UUAS of the closest tree, Spearman's correlation by length."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from headscope.analyses.probes.structural.state_store import StoredSentence
from headscope.statistics.inference.confidence import ends_of, mean_interval, ratio_interval
from headscope.statistics.sums.groups import GroupedSums


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


SHORTEST, LONGEST = 5, 50
MEASURES = ("UUAS", "Spearman")
_TOGETHER = 64  # sentences of one length

Scores = dict[str, dict[str, float]]
"""For each of `MEASURES` its columns `value`, `ci_low`, `ci_high` and `n_cases`."""


class StructuralScorer:
    """Score predicted distances on sentences, by group of documents (`statistics.sums.groups`).

    UUAS: the share of gold arcs between two words, punctuation excluded, that are in the minimum spanning tree over
    those words. Spearman: each word's correlation between its predicted and its gold distances to all words of the
    sentence, including itself, as Hewitt and Manning compute it. A word without pieces is never right: its arcs count
    as not found, its own correlation is 0, and the correlations of other words exclude it.

    Args:
        sentences: sentences with gold trees; their distances are kept in memory, 2 bytes a pair of words.
    """

    def __init__(self, sentences: Sequence[StoredSentence]) -> None:
        by_length: dict[int, list[StoredSentence]] = {}
        for sentence in sentences:
            by_length.setdefault(len(sentence), []).append(sentence)
        self._groups = [
            _Group.of(group[at : at + _TOGETHER])
            for _, group in sorted(by_length.items())
            for at in range(0, len(group), _TOGETHER)
        ]

    def sums(self, predict: Callable[[NDArray[np.int64]], NDArray[np.float32]]) -> dict[str, NDArray[Any]]:
        """Return `hits` and `arcs` `[group]`, `correlation` and `words` `[group, length]` for lengths 5 to 50.

        Args:
            predict: function that returns the distances between words, `[sentence, word, word]`, of sentences of one
                length, from the rows of their words in the store, `[sentence, word]`.
        """
        lengths = LONGEST - SHORTEST + 1
        sums = GroupedSums({"hits": (), "n_arcs": (), "correlation": (lengths,), "n_words": (lengths,)})
        for group in self._groups:
            predicted, size = predict(group.rows), group.rows.shape[1]
            trees = closest_trees(predicted, group.included)
            hits, arcs = ((group.arcs & trees).sum((1, 2)), group.arcs.sum((1, 2)))
            inside = SHORTEST <= size <= LONGEST
            correlations = row_correlations(predicted, group.gold, group.known).sum(1) if inside else hits
            for item, document in enumerate(group.documents):
                correlation, words = np.zeros(lengths), np.zeros(lengths, dtype=np.int32)
                if inside:
                    correlation[size - SHORTEST], words[size - SHORTEST] = correlations[item], size
                counts = {"n_arcs": np.array(arcs[item]), "n_words": words}
                sums.add(document, hits=np.array(hits[item]), correlation=correlation, **counts)
        stacked = sums.stacked()
        return {name.removeprefix("n_"): table.astype(np.float64) for name, table in stacked.items()}


@dataclass(frozen=True, eq=False)
class _Group:
    """Sentences of one length: their documents, rows in the store, and gold distances and arcs."""

    documents: list[str]
    rows: NDArray[np.int64]
    known: NDArray[np.bool_]
    included: NDArray[np.bool_]
    arcs: NDArray[np.bool_]
    gold: NDArray[np.int16]

    @classmethod
    def of(cls, sentences: Sequence[StoredSentence]) -> "_Group":
        known = np.stack([sentence.known for sentence in sentences])
        punctuation = np.stack([sentence.punctuation for sentence in sentences])
        return cls(
            documents=[sentence.document for sentence in sentences],
            rows=np.stack([np.arange(sentence.start, sentence.start + len(sentence)) for sentence in sentences]),
            known=known,
            included=known & ~punctuation,
            arcs=np.stack([gold_arcs(sentence) for sentence in sentences]),
            gold=np.stack([tree_distances(sentence.heads).astype(np.int16) for sentence in sentences]),
        )


def gold_arcs(sentence: StoredSentence) -> NDArray[np.bool_]:
    """Mark the arcs between words that are not punctuation, `[word, word]`, lower word first."""
    arcs = np.zeros((len(sentence), len(sentence)), dtype=bool)
    for word, head in enumerate(sentence.heads):
        if head and not sentence.punctuation[word] and not sentence.punctuation[head - 1]:
            arcs[min(word, head - 1), max(word, head - 1)] = True
    return arcs


def row_correlations(
    predicted: NDArray[np.float32], gold: NDArray[np.integer], known: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Return each word's Spearman correlation of predicted and gold distances, `[sentence, word]`.

    It is 0 for words that are not known, and where all predicted distances are equal.

    Args:
        predicted: `[sentence, word, word]`.
        gold: gold distances, `[sentence, word, word]`.
        known: `[sentence, word]`.
    """
    out = np.zeros(known.shape)
    complete = known.all(1)
    if complete.any():
        out[complete] = _correlations(predicted[complete], gold[complete])
    for item in np.flatnonzero(~complete):
        words = np.flatnonzero(known[item])
        if len(words) > 1:
            inner = np.ix_([item], words, words)
            out[item, words] = _correlations(predicted[inner], gold[inner])[0]
    return out


def _correlations(left: NDArray[Any], right: NDArray[Any]) -> NDArray[np.float64]:
    ranks = [rankdata(table, axis=-1) for table in (left, right)]
    a, b = (table - table.mean(-1, keepdims=True) for table in ranks)
    size = np.sqrt((a**2).sum(-1) * (b**2).sum(-1))
    correlations: NDArray[np.float64] = np.divide((a * b).sum(-1), size, out=np.zeros(size.shape), where=size > 0)
    return correlations


def structural_scores(sums: Sequence[dict[str, NDArray[Any]]]) -> Scores:
    """Return UUAS and Spearman of one probe, or the means over several that were scored on the same sentences.

    Spearman is the mean of the lengths' means, each length counted once.

    Args:
        sums: result of `StructuralScorer.sums` for each probe.
    """
    mean = {name: np.mean([probe_sums[name] for probe_sums in sums], axis=0) for name in sums[0]}
    uuas = ratio_interval(mean["hits"], mean["arcs"], scale="share")
    spearman = mean_interval(mean["correlation"], mean["words"])
    return {
        "UUAS": {**ends_of(uuas, ()), "n_cases": int(mean["arcs"].sum())},
        "Spearman": {**ends_of(spearman, ()), "n_cases": int(mean["words"].sum())},
    }
