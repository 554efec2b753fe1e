"""The relation of an arc: a softmax over labels on its attention in both directions, and the two words."""

from collections import Counter
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from headscope.analyses.probes.data.probe_batches import ProbeBatch
from headscope.analyses.probes.data.tree_sentences import UNKNOWN
from headscope.analyses.probes.parsers.attention_probes import glorot
from headscope.analyses.probes.parsers.learner import Judged, Learner


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
