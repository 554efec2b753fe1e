"""The answers of trained probes on other sentences: from scores to heads and trees, and the labels of arcs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.analyses.probes.parsers.attention_probes import glorot
from headscope.analyses.probes.parsers.learner import ArcProbe, Judged, Learner
from headscope.analyses.probes.probe_data import ProbeBatch, ProbeData
from headscope.analyses.probes.tree_sentences import UNKNOWN


class LabelProbe(Learner):
    """A linear classifier of arcs between words, trained on gold arcs.

    Arcs from the root are excluded: they get the most frequent label of such arcs in train.

    Args:
        runs: number of runs.
        heads: number of heads.
        labels: number of relations.
        vectors: vectors of all word types, `[type, width]`; None for a probe over attention alone.
        seeds: seeds of the initial weights, one a run.
    """

    vectors: Tensor | None

    def __init__(self, runs: int, heads: int, labels: int, vectors: Tensor | None, *, seeds: Sequence[int]) -> None:
        super().__init__((0,) * runs)
        # Attention is small, so its weights are large; vectors have unit scale.
        self.rate = 0.04 if vectors is None else 0.004
        self.register_buffer("vectors", vectors, persistent=False)
        width = 2 * heads + (0 if vectors is None else 2 * vectors.shape[1])
        self.weights = nn.Parameter(glorot((width, labels), width, labels, seeds))
        self.bias = nn.Parameter(torch.zeros(runs, labels))

    def judge(self, batch: ProbeBatch) -> Judged:
        """Label the gold arcs between words; see `Learner.judge`."""
        heads = batch.targets[0]
        item, dependent = ((heads > 0) & (batch.labels != UNKNOWN)).nonzero(as_tuple=True)
        head, label = heads[item, dependent] - 1, batch.labels[item, dependent]
        features = self._features(batch, item, dependent, head)
        scores = (features @ self.weights + self.bias[:, None]).log_softmax(2)
        loss = -scores.gather(2, label.expand(self.runs, -1)[..., None])[..., 0]
        of_sentences = loss.new_zeros((self.runs, len(heads))).index_add(1, item, loss)
        return Judged(loss=of_sentences, counts=torch.bincount(item, minlength=len(heads)))

    def answers(self, batch: ProbeBatch, heads: Tensor) -> Tensor:
        """Label the arcs that each run chose.

        Args:
            batch: the sentences.
            heads: each word's head, 0 for the root, `[run, batch, word]`.

        Returns:
            Indices of relations, `UNKNOWN` for arcs from the root and for padding, `[run, batch, word]`.
        """
        labels = torch.full_like(heads, UNKNOWN)
        for run in range(self.runs):
            item, dependent = ((heads[run] > 0) & batch.valid).nonzero(as_tuple=True)
            features = self._features(batch, item, dependent, heads[run][item, dependent] - 1)
            labels[run, item, dependent] = (features @ self.weights[run] + self.bias[run]).argmax(1)
        return labels

    def _features(self, batch: ProbeBatch, item: Tensor, dependent: Tensor, head: Tensor) -> Tensor:
        """Return the features of arcs, `[arc, 2 heads + 2 width]`."""
        parts = [batch.tables[item, head, dependent], batch.tables[item, dependent, head]]
        if self.vectors is not None:
            parts += [self.vectors[batch.words[item, head]], self.vectors[batch.words[item, dependent]]]
        return torch.cat(parts, dim=1)


def root_label(labels: Iterable[str], heads: Iterable[int]) -> str:
    """Return the most frequent label of arcs from the root; ties go to the first in the alphabet."""
    counts = Counter(label for label, head in zip(labels, heads) if head == 0)
    return min(counts, key=lambda name: (-counts[name], name), default="root")


def right_branching(words: int) -> NDArray[np.int64]:
    """Return the tree in which the head of every word is the next word, and the last word is the root."""
    return np.append(np.arange(2, words + 1), 0)


def best_tree(scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return the tree with one root that has the highest sum of scores, as heads from 1, 0 the root; `[word]`.

    Chu and Liu 1965, Edmonds 1967, by networkx, which is skipped where the best heads already form a tree. networkx
    gets only the arcs that can be in the best tree: any tree found without it bounds the loss against the sum of the
    best heads, and an arc that alone loses more than this bound is in no better tree.

    Args:
        scores: scores of every head, -inf for a word that cannot be the head, `[dependent, 1 + word]`; every word must
            have a finite score, and some word a finite one from the root.
    """
    heads: NDArray[np.int64] = scores.argmax(1)
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


_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class ArcAnswers:
    """The answers of a probe's runs, with sentences concatenated in the order of the data.

    Attributes:
        heads: best head of each word, 0 for the root, `[run, word]`.
        targets: right answers of each run's task, the tree or the control task, `[run, word]`.
        trees: heads in the best tree; with 0 runs if no trees were requested, `[run, word]`.
        labels: index of the label of each word's best head (`LabelProbe.answers`); 0 runs without a label probe.
    """

    heads: NDArray[np.int64]
    targets: NDArray[np.int64]
    trees: NDArray[np.int64]
    labels: NDArray[np.int64]


@torch.no_grad()
def answer(
    probe: ArcProbe,
    data: ProbeData,
    *,
    labels: LabelProbe | None = None,
    trees: Sequence[int] = (),
    weights: int,
    device: torch.device | str = "cpu",
) -> ArcAnswers:
    """Predict every word's head with a probe.

    Args:
        probe: the trained probe.
        data: the sentences, in the order of `data.numbers`.
        labels: probe that labels the arcs of the first runs; it must have as many runs, trained on the tree.
        trees: runs whose best trees are predicted too.
        weights: largest number of values in a batch's tables.
        device: device to compute on.
    """
    by_sentence: dict[int, tuple[NDArray[np.int64], ...]] = {}
    for chosen in data.cut(data.numbers, most=_AT_ONCE, weights=weights):
        batch = data.batch(chosen, device=device)
        scores = probe.scores(batch)
        heads = scores.argmax(3)
        targets = batch.targets[list(probe.tasks)]
        labels_of_heads = heads[:0] if labels is None else labels.answers(batch, heads[: labels.runs])
        exact, lengths = scores[list(trees)].cpu().numpy(), batch.lengths.tolist()
        answers = [each.cpu().numpy() for each in (heads, targets, labels_of_heads)]
        for item, (number, size) in enumerate(zip(chosen.tolist(), lengths, strict=True)):
            best = [best_tree(table[item, :size, : size + 1]) for table in exact]
            own_heads, own_targets, own_labels = (each[:, item, :size] for each in answers)
            by_sentence[number] = own_heads, own_targets, np.array(best, dtype=np.int64).reshape(-1, size), own_labels
    in_order = [by_sentence[number] for number in data.numbers.tolist()]
    return ArcAnswers(*(np.concatenate(each, axis=1) for each in zip(*in_order, strict=True)))
