"""The parsers over frozen attention: a weight for every head, alone or set by the two words (section 5)."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.analyses.probes.parsers.learner import ArcProbe, ProbeInputs, System
from headscope.analyses.probes.probe_data import ProbeBatch

DIRECTIONS = ("head->dependent", "dependent->head")


class Root(nn.Module):
    """The attention of the root: a x that of the first special token + b x that of the last.

    The root is then a candidate like a word, with the same head weights. Where an input has no special token there is
    no such attention, and the root's score is a learned constant.

    Args:
        runs: number of runs.
        special: True if inputs have special tokens.
    """

    def __init__(self, runs: int, *, special: bool) -> None:
        super().__init__()
        self.share = nn.Parameter(torch.full((runs, 2), 0.1)) if special else None
        self.constant = None if special else nn.Parameter(torch.zeros(runs))

    def score(self, from_special: Tensor, to_special: Tensor) -> Tensor:
        """Return the root's score, `[run, batch, dependent]`.

        Args:
            from_special: weighted attention of both special tokens to each word, `[run, batch, dependent, 2]`.
            to_special: weighted attention of each word to both special tokens, `[run, batch, dependent, 2]`.
        """
        if self.constant is not None:
            return self.constant[:, None, None].expand(from_special.shape[:3])
        assert self.share is not None
        return torch.einsum("rbdx,rx->rbd", from_special + to_special, self.share)


class AttentionProbe(ArcProbe):
    """Attention alone: score(i | j) = sum over heads k of w_k a_ij^k + u_k a_ji^k.

    a_ij^k is the attention of head k from i, the candidate, to j, the dependent.

    Args:
        tasks: task of each run.
        heads: number of heads.
        special: True if inputs have special tokens.
        seeds: seeds of the initial weights, one a run.
    """

    name = "attention"
    system = System(name="Attention", role="previous", paper="attention")
    control = System(name="Attention, random weights", role="cls")
    labeled = True
    rate = 0.1

    def __init__(self, tasks: Sequence[int], heads: int, *, special: bool, seeds: Sequence[int]) -> None:
        super().__init__(tasks)
        self.weights = nn.Parameter(glorot((2, heads), heads, 1, seeds))
        self.root = Root(self.runs, special=special)

    @classmethod
    def of(cls, inputs: ProbeInputs, tasks: Sequence[int], *, seeds: Sequence[int]) -> "AttentionProbe":
        """See `ArcProbe.of`."""
        return cls(tasks, inputs.heads, special=inputs.special, seeds=seeds)

    def raw(self, batch: ProbeBatch) -> Tensor:
        """See `ArcProbe.raw`."""
        runs, heads = self.runs, batch.tables.shape[3]
        columns = self.weights.reshape(runs * 2, heads).T
        # [batch, from, to, run, direction]
        weighted = (batch.tables @ columns).view(*batch.tables.shape[:3], runs, 2)
        down, up = weighted[..., 0].permute(3, 0, 2, 1), weighted[..., 1].permute(3, 0, 1, 2)
        from_special = torch.einsum("bxdk,rk->rbdx", batch.to_words, self.weights[:, 0])
        to_special = torch.einsum("bdxk,rk->rbdx", batch.to_special, self.weights[:, 1])
        root = self.root.score(from_special, to_special)
        return torch.cat([root[..., None], down + up], dim=3)

    def head_weights(
        self, runs: Sequence[int], arcs: tuple[NDArray[np.int64], NDArray[np.int64]]
    ) -> NDArray[np.float64]:
        """See `ArcProbe.head_weights`: the weights themselves, whatever the arcs."""
        chosen: NDArray[np.float64] = self.weights.detach()[list(runs)].mean(0).double().cpu().numpy()
        return chosen


def glorot(shape: tuple[int, ...], fan_in: int, fan_out: int, seeds: Sequence[int]) -> Tensor:
    """Draw initial weights uniformly within sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010), as the notebook.

    Args:
        shape: shape of one run's weights.
        fan_in: number of terms in each sum.
        fan_out: number of sums.
        seeds: seeds of the random draws, one a run; a run's weights do not depend on the number of other runs.

    Returns:
        `[run, *shape]`.
    """
    bound = (6 / (fan_in + fan_out)) ** 0.5
    drawn = [torch.rand(shape, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
    weights: Tensor = (2 * torch.stack(drawn) - 1) * bound
    return weights


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
