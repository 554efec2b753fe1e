"""The parser over frozen attention alone: a weight for every head (section 5)."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from headscope.analyses.probes.data.probe_batches import ProbeBatch
from headscope.analyses.probes.parsers.learner import ArcProbe, ProbeInputs, System

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
