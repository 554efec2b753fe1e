"""The parser that sees frozen attention and words: the two words set the weight of every head (section 5)."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.analyses.probes.data.probe_batches import ProbeBatch
from headscope.analyses.probes.parsers.attention_probe import Root, glorot
from headscope.analyses.probes.parsers.learner import ArcProbe, ProbeInputs, System


class AttentionWordsProbe(ArcProbe):
    """Attention and words: the weight of head k for the pair (i, j) is a linear function of both words' vectors.

    W_k [v_i; v_j] + bias splits into a term of the candidate, a term of the dependent and the bias, so no pair of
    vectors is ever materialized: each word has two weights a head and direction, and the tables of attention are
    contracted with the weights of their rows and of their columns.

    Args:
        tasks: task of each run.
        heads: number of heads.
        vectors: vectors of all word types, `[type, width]`; they are not trained.
        special: True if inputs have special tokens.
        seeds: seeds of the initial weights, one a run.
    """

    name = "attention and words"
    system = System(name="Attention and words", role="syntax", paper="attention + GloVe")
    control = System(name="Attention and words, random weights", role="sep", paper="random-init attention + GloVe")
    reads_words = True
    labeled = True
    tree_seeds = (0,)
    rate = 0.003
    vectors: Tensor

    def __init__(
        self, tasks: Sequence[int], heads: int, vectors: Tensor, *, special: bool, seeds: Sequence[int]
    ) -> None:
        super().__init__(tasks)
        self.register_buffer("vectors", vectors, persistent=False)
        width = vectors.shape[1]
        # [run, role of the word (candidate, dependent), direction, width, head]
        self.weights = nn.Parameter(glorot((2, 2, width, heads), 2 * width, heads, seeds))
        self.bias = nn.Parameter(torch.zeros(self.runs, 2, heads))
        self.root_vector = nn.Parameter(torch.zeros(self.runs, width))
        self.root = Root(self.runs, special=special)

    @classmethod
    def of(cls, inputs: ProbeInputs, tasks: Sequence[int], *, seeds: Sequence[int]) -> "AttentionWordsProbe":
        """See `ArcProbe.of`."""
        return cls(tasks, inputs.heads, inputs.vectors, special=inputs.special, seeds=seeds)

    def raw(self, batch: ProbeBatch) -> Tensor:
        """See `ArcProbe.raw`."""
        weights = self.word_weights(batch.words)
        candidate, dependent = weights[:, :, :, 0], weights[:, :, :, 1] + self.bias
        # Attention from i to j is in row i, column j; from j to i in row j, column i. The terms of rows are contracted
        # in one product, those of columns in another: `[batch, row or column, the other, 2 x run]`.
        rows = _contract(batch.tables, candidate[:, :, :, 0], dependent[:, :, :, 1])
        columns = _contract(batch.flipped, dependent[:, :, :, 0], candidate[:, :, :, 1])
        of_candidates = rows[0] + columns[1]
        words = of_candidates.transpose(1, 2) + columns[0] + rows[1]
        of_root = torch.einsum("rw,rdwk->rdk", self.root_vector, self.weights[:, 0])
        total = dependent + of_root
        from_special = torch.einsum("bxdk,bdrk->rbdx", batch.to_words, total[:, :, :, 0])
        to_special = torch.einsum("bdxk,bdrk->rbdx", batch.to_special, total[:, :, :, 1])
        root = self.root.score(from_special, to_special)
        return torch.cat([root[..., None], words.permute(3, 0, 1, 2)], dim=3)

    def word_weights(self, words: Tensor) -> Tensor:
        """Return each word's term of the heads' weights, `[batch, word, run, role, direction, head]`."""
        runs, width, heads = self.runs, *self.weights.shape[3:]
        flat = self.weights.permute(3, 0, 1, 2, 4).reshape(width, -1)
        weights: Tensor = (self.vectors[words] @ flat).view(*words.shape, runs, 2, 2, heads)
        return weights

    @torch.no_grad()
    def head_weights(
        self, runs: Sequence[int], arcs: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> NDArray[np.float64]:
        """See `ArcProbe.head_weights`: the mean over arcs, computed from mean vectors because weights are linear."""
        means = [self.vectors[torch.from_numpy(side).to(self.vectors.device)].double().mean(0) for side in arcs]
        weights = self.weights.double()
        from_words = sum(torch.einsum("w,rdwk->rdk", mean, weights[:, role]) for role, mean in enumerate(means))
        mean_weights: NDArray[np.float64] = (from_words + self.bias.double())[list(runs)].mean(0).cpu().numpy()
        return mean_weights


def _contract(tables: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
    """Contract `[batch, line, position, head]` with two sets of weights of its lines, `[batch, line, run, head]`."""
    runs = weights[0].shape[2]
    both = tables @ torch.cat(weights, dim=2).transpose(2, 3)
    return both[..., :runs], both[..., runs:]
