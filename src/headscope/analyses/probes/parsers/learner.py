"""The base class of all probes: several runs of one small classifier, trained side by side on the same batches.

A run is one seed on one task. All parameters have the runs as their first axis and share only the reading of a batch,
so that Adam trains each as if it were alone, while the attention, the expensive part, is read once for all of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.analyses.probes.probe_data import ProbeBatch


@dataclass(frozen=True, eq=False)
class Judged:
    """The loss of a probe on a batch.

    Attributes:
        loss: sum over the words of a sentence, in nats, `[run, batch]`.
        counts: number of words scored, `[batch]`.
    """

    loss: Tensor
    counts: Tensor


class Learner(nn.Module, ABC):
    """A probe of several runs.

    Args:
        tasks: task of each run, as an index into `ProbeBatch.targets`.

    Attributes:
        rate: learning rate of its optimizer, Adam.
    """

    rate: float = 0.01

    def __init__(self, tasks: Sequence[int]) -> None:
        super().__init__()
        self.tasks = tuple(tasks)

    @property
    def runs(self) -> int:
        """Number of runs."""
        return len(self.tasks)

    @abstractmethod
    def judge(self, batch: ProbeBatch) -> Judged:
        """Answer a batch and compare with the right answers."""


@dataclass(frozen=True, kw_only=True)
class System:
    """A probe on a model, as a row of table 3.

    Attributes:
        name: name in words.
        measure: measure that the row shows.
        role: role whose color the row has, and whose marker its curve has.
        paper: row of the paper's table, where it has one.
    """

    name: str
    measure: str = "UAS"
    role: str
    paper: str | None = None


@dataclass(frozen=True, kw_only=True)
class ProbeInputs:
    """The properties of a model and a treebank on which a probe's shape depends.

    Attributes:
        heads: number of heads.
        vectors: vectors of all word types, `[type, width]`; they are not trained.
        special: True if inputs have special tokens.
    """

    heads: int
    vectors: Tensor
    special: bool


class ArcProbe(Learner):
    """A probe that scores every word, and the root, as the head of every word (section 5).

    The candidates for a word in a tree are the other words and the root. In a control task they are all words,
    including the word itself, and not the root, because its targets are words of the sentence.

    Attributes:
        name: name in tables.
        system: its row of table 3.
        control: the row of the same probe on models with random weights; None if it is not trained on them.
        reads_attention: True if it sees attention; a probe that does not is trained once, whatever the model.
        reads_words: True if it sees word vectors.
        labeled: True if a label probe with the same inputs labels its arcs.
        tree_seeds: seeds whose best trees are computed too; networkx takes about 20 ms a sentence.
    """

    name: ClassVar[str]
    system: ClassVar[System]
    control: ClassVar[System | None] = None
    reads_attention: ClassVar[bool] = True
    reads_words: ClassVar[bool] = False
    labeled: ClassVar[bool] = False
    tree_seeds: ClassVar[tuple[int, ...]] = ()

    @classmethod
    @abstractmethod
    def of(cls, inputs: ProbeInputs, tasks: Sequence[int], *, seeds: Sequence[int]) -> "ArcProbe":
        """Make a probe of several runs, from the task and the seed of the initial weights of each run."""

    def head_weights(
        self, runs: Sequence[int], arcs: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> NDArray[np.float64] | None:
        """Return the weight of each head, the mean over runs, `[direction, head]`; None if it has no such weights.

        Args:
            runs: indices of the runs to average.
            arcs: the word types of the head and of the dependent of gold arcs between words, `[arc]` each.
        """
        return None

    @abstractmethod
    def raw(self, batch: ProbeBatch) -> Tensor:
        """Score heads before any is masked: `[run, batch, dependent, 1 + word]`, the root first."""

    def scores(self, batch: ProbeBatch) -> Tensor:
        """Return the log-probability of every head, `[run, batch, dependent, 1 + word]`; -inf for a non-candidate.

        A position of padding has the root as its only candidate.
        """
        return self.raw(batch).masked_fill(~candidates(batch, self.tasks), -torch.inf).log_softmax(-1)

    def judge(self, batch: ProbeBatch) -> Judged:
        """Answer with the most likely head; see `Learner.judge`."""
        scores = self.scores(batch)
        targets = batch.targets[list(self.tasks)]
        log_probabilities = scores.gather(3, targets.clamp(min=0)[..., None])[..., 0]
        return Judged(loss=-torch.where(batch.valid, log_probabilities, 0.0).sum(2), counts=batch.lengths)


def candidates(batch: ProbeBatch, tasks: Sequence[int]) -> Tensor:
    """Mark the candidates for each word's head in each run's task, bool `[run, batch, dependent, 1 + word]`."""
    size = batch.valid.shape[1]
    pairs = batch.valid[:, :, None] & batch.valid[:, None, :]
    apart = ~torch.eye(size, dtype=torch.bool, device=pairs.device)
    root = torch.ones_like(pairs[:, :, :1])
    tree = torch.cat([root, pairs & apart], dim=2)
    control = torch.cat([root & ~batch.valid[:, :, None], pairs], dim=2)
    return torch.stack([control if task else tree for task in tasks])
