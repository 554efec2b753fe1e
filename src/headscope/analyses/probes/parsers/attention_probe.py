"""Parsers that see frozen attention: a weight for every head, or one that the two words set (section 5)."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from headscope.analyses.probes.data.batches import ProbeBatch
from headscope.analyses.probes.parsers.learner import ArcProbe

DIRECTIONS = ("head->dependent", "dependent->head")


class Root(nn.Module):
    """How the root comes by its attention: a x that of the first special token + b x that of the last.

    It then stands among the candidates as a word would, through the same head weights. Where an input has no special
    token there is no such attention, and the root's score is a learned constant.

    Args:
        runs: number of runs.
        special: whether inputs have special tokens.
    """

    def __init__(self, runs: int, *, special: bool) -> None:
        super().__init__()
        self.share = nn.Parameter(torch.full((runs, 2), 0.1)) if special else None
        self.constant = None if special else nn.Parameter(torch.zeros(runs))

    def score(self, from_special: Tensor, to_special: Tensor) -> Tensor:
        """Return the root's score, `[run, batch, dependent]`.

        Args:
            from_special: weighted attention of both special tokens to each word, `[run, batch, dependent, 2]`.
            to_special: that of each word to them.
        """
        if self.constant is not None:
            return self.constant[:, None, None].expand(from_special.shape[:3])
        assert self.share is not None
        return torch.einsum("rbdx,rx->rbd", from_special + to_special, self.share)


class AttentionProbe(ArcProbe):
    """Attention alone: score(i | j) = sum over heads k of w_k a_ij^k + u_k a_ji^k.

    a_ij^k is the attention of head k from i, the candidate, to j, the dependent.

    Args:
        tasks: the task of each run.
        heads: number of heads.
        special: whether inputs have special tokens.
        seeds: of the first weights, one a run.
    """

    rate = 0.1

    def __init__(self, tasks: Sequence[int], heads: int, *, special: bool, seeds: Sequence[int]) -> None:
        super().__init__(tasks)
        self.weights = nn.Parameter(glorot((2, heads), heads, 1, seeds))
        self.root = Root(self.runs, special=special)

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


class AttentionWordsProbe(ArcProbe):
    """Attention and words: the weight of head k for the pair (i, j) is a linear function of both words' vectors.

    W_k (v_i + v_j, one behind the other) + bias splits into a share of the candidate, one of the dependent and the
    bias, so no pair of vectors is ever laid out: each word has two weights a head and direction, and the tables of
    attention are contracted with those of its row and those of its column.

    Args:
        tasks: the task of each run.
        heads: number of heads.
        vectors: of all word types, `[type, width]`; they are not trained.
        special: whether inputs have special tokens.
        seeds: of the first weights, one a run.
    """

    rate = 0.003
    vectors: Tensor

    def __init__(
        self,
        tasks: Sequence[int],
        heads: int,
        vectors: Tensor,
        *,
        special: bool,
        seeds: Sequence[int],
    ) -> None:
        super().__init__(tasks)
        self.register_buffer("vectors", vectors, persistent=False)
        width = vectors.shape[1]
        # [run, role of the word (candidate, dependent), direction, width, head]
        self.weights = nn.Parameter(glorot((2, 2, width, heads), 2 * width, heads, seeds))
        self.bias = nn.Parameter(torch.zeros(self.runs, 2, heads))
        self.root_vector = nn.Parameter(torch.zeros(self.runs, width))
        self.root = Root(self.runs, special=special)

    def raw(self, batch: ProbeBatch) -> Tensor:
        """See `ArcProbe.raw`."""
        own = self.word_weights(batch.words)
        candidate, dependent = own[:, :, :, 0], own[:, :, :, 1] + self.bias
        # Attention from i to j lies in row i, column j; from j to i in row j, column i. What rows know is contracted
        # in one go, what columns know in another: `[batch, row or column, the other, 2 x run]`.
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
        """Return each word's share of the heads' weights, `[batch, word, run, role, direction, head]`."""
        runs, width, heads = self.runs, *self.weights.shape[3:]
        flat = self.weights.permute(3, 0, 1, 2, 4).reshape(width, -1)
        own: Tensor = (self.vectors[words] @ flat).view(*words.shape, runs, 2, 2, heads)
        return own


def _contract(tables: Tensor, *weights: Tensor) -> tuple[Tensor, Tensor]:
    """Contract `[batch, line, place, head]` with two sets of weights of its lines, `[batch, line, run, head]`."""
    runs = weights[0].shape[2]
    both = tables @ torch.cat(weights, dim=2).transpose(2, 3)
    return both[..., :runs], both[..., runs:]


def glorot(shape: tuple[int, ...], fan_in: int, fan_out: int, seeds: Sequence[int]) -> Tensor:
    """Draw first weights within sqrt(6 / (fan_in + fan_out)), uniformly (Glorot and Bengio 2010), as the notebook.

    Args:
        shape: of one run's weights.
        fan_in: how many numbers each sum is of.
        fan_out: how many sums there are.
        seeds: of the draws, one a run; a run's weights do not depend on how many others there are.

    Returns:
        `[run, *shape]`.
    """
    bound = (6 / (fan_in + fan_out)) ** 0.5
    drawn = [torch.rand(shape, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
    weights: Tensor = (2 * torch.stack(drawn) - 1) * bound
    return weights
