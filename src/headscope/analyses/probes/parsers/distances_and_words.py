"""The parser without attention: two words' vectors and the distance between them (section 5, footnote 5)."""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from headscope.analyses.probes.parsers.attention_probes import glorot
from headscope.analyses.probes.parsers.learner import ArcProbe, ProbeInputs, System
from headscope.analyses.probes.probe_data import ProbeBatch

HIDDEN = 256
NEAR = 5  # distances up to this have an indicator each, ahead and behind
FEATURES = 2 * NEAR + 3
_FAR = 10.0  # words; the unit of the continuous distances


class DistanceWordsProbe(ArcProbe):
    """Words and distances: one hidden layer of tanh units on the candidate's vector, the dependent's and features.

    Features of a pair: an indicator for each distance from 1 to 5 and the distance itself in tens of words, separately
    for ahead and behind, and an indicator of the word itself (a candidate in control tasks only). The root has its own
    learned vector of hidden inputs in place of a candidate's vector and features.

    The hidden layer's input is the sum of a term of the candidate, a term of the dependent and a term of the distance,
    so no pair of vectors is ever materialized.

    Args:
        tasks: task of each run.
        vectors: vectors of all word types, `[type, width]`; they are not trained.
        seeds: seeds of the initial weights, one a run.
        hidden: number of hidden units.
    """

    name = "distances and words"
    system = System(name="Distances and words", role="next", paper="distances + GloVe")
    reads_attention = False
    reads_words = True
    rate = 0.003
    vectors: Tensor

    def __init__(self, tasks: Sequence[int], vectors: Tensor, *, seeds: Sequence[int], hidden: int = HIDDEN) -> None:
        super().__init__(tasks)
        self.register_buffer("vectors", vectors, persistent=False)
        width = vectors.shape[1]
        fan_in = 2 * width + FEATURES
        # [run, role of the word (candidate, dependent), width, hidden]
        self.words = nn.Parameter(glorot((2, width, hidden), fan_in, hidden, seeds))
        self.features = nn.Parameter(glorot((FEATURES, hidden), fan_in, hidden, seeds))
        self.bias = nn.Parameter(torch.zeros(self.runs, hidden))
        self.root = nn.Parameter(torch.zeros(self.runs, hidden))
        self.out = nn.Parameter(glorot((hidden,), hidden, 1, seeds))

    @classmethod
    def of(cls, inputs: ProbeInputs, tasks: Sequence[int], *, seeds: Sequence[int]) -> "DistanceWordsProbe":
        """See `ArcProbe.of`."""
        return cls(tasks, inputs.vectors, seeds=seeds)

    def raw(self, batch: ProbeBatch) -> Tensor:
        """See `ArcProbe.raw`."""
        vectors = self.vectors[batch.words]
        at = torch.arange(batch.words.shape[1], device=batch.words.device)
        # The terms of every distance that a batch can have; each pair takes the term of its distance.
        size = len(at)
        steps = torch.arange(1 - size, size, device=at.device)
        picked = at[None, :] - at[:, None] + size - 1
        scores = []
        for run in range(self.runs):
            candidate = vectors @ self.words[run, 0]
            dependent = vectors @ self.words[run, 1] + self.bias[run]
            apart = (distance_features(steps) @ self.features[run])[picked]
            words = pair_scores(candidate, dependent, apart, self.out[run])
            root = (dependent + self.root[run]).tanh() @ self.out[run]
            scores.append(torch.cat([root[..., None], words], dim=2))
        return torch.stack(scores)


def distance_features(steps: Tensor) -> Tensor:
    """Return the features of distances, candidate minus dependent in words, `[step, FEATURES]` float32."""
    near = torch.arange(1, NEAR + 1, device=steps.device)
    indicators = torch.cat([steps[:, None] == near, steps[:, None] == -near, steps[:, None] == 0], dim=1)
    far = torch.stack([steps.clamp(min=0), (-steps).clamp(min=0)], dim=1) / _FAR
    return torch.cat([indicators.float(), far], dim=1)


# Hidden units computed at a time on a CPU: half a MiB of float32 fits into a core's second-level cache.
_AT_ONCE = 1 << 17


def pair_scores(candidates: Tensor, dependents: Tensor, apart: Tensor, out: Tensor) -> Tensor:
    """Score every pair of words by one hidden layer: out . tanh(dependent + candidate + apart).

    The units are recomputed for the gradient, which costs less than to carry them to memory and back.

    Args:
        candidates: contribution of each word to the units as a candidate, `[batch, word, hidden]`.
        dependents: contribution of each word as a dependent, including its bias, `[batch, word, hidden]`.
        apart: contribution of the distance, `[dependent, candidate, hidden]`.
        out: weights of the units, `[hidden]`.

    Returns:
        `[batch, dependent, candidate]`.
    """
    scores: Tensor = _PairScores.apply(candidates, dependents, apart, out)  # type: ignore[no-untyped-call]
    return scores


class _PairScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, candidates: Tensor, dependents: Tensor, apart: Tensor, out: Tensor) -> Tensor:
        ctx.save_for_backward(candidates, dependents, apart, out)
        scores = candidates.new_empty((*candidates.shape[:2], candidates.shape[1]))
        for items, rows, units in _chunks(candidates, dependents, apart):
            scores[items, rows] = units @ out
        return scores

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, ...]:
        candidates, dependents, apart, out = ctx.saved_tensors
        of_candidates, of_dependents = torch.zeros_like(candidates), torch.empty_like(dependents)
        of_apart, of_out = torch.zeros_like(apart), torch.zeros_like(out)
        unit = out.new_ones(())
        for items, rows, units in _chunks(candidates, dependents, apart):
            gradient = gradients[0][items, rows]
            of_out += gradient.reshape(-1) @ units.flatten(0, 2)
            # The derivative of tanh is 1 - tanh^2. The units' weights are the same for all pairs and multiply last.
            slopes = torch.addcmul(unit, units, units, value=-1.0, out=units).mul_(gradient[..., None])
            of_candidates[items] += slopes.sum(1)
            of_dependents[items, rows] = slopes.sum(2)
            of_apart[rows] += slopes.sum(0)
        return of_candidates * out, of_dependents * out, of_apart * out, of_out


def _chunks(candidates: Tensor, dependents: Tensor, apart: Tensor) -> Iterator[tuple[slice, slice, Tensor]]:
    """Yield the hidden units of some sentences and some of their words as dependents, in one reused buffer.

    Short sentences are computed several at a time, long ones a few words at a time.
    """
    batch, size, hidden = candidates.shape
    at_once = _AT_ONCE if candidates.device.type == "cpu" else batch * size * size * hidden
    items = max(1, at_once // (size * size * hidden))
    rows = size if items > 1 else min(size, max(1, at_once // (size * hidden)))
    memory = candidates.new_empty(min(items, batch) * rows * size * hidden)
    for start in range(0, batch, items):
        chosen = slice(start, min(start + items, batch))
        for first in range(0, size, rows):
            lines = slice(first, min(first + rows, size))
            shape = (chosen.stop - chosen.start, lines.stop - lines.start, size, hidden)
            units = memory[: shape[0] * shape[1] * size * hidden].view(shape)
            torch.add(candidates[chosen][:, None], apart[lines], out=units)
            units += dependents[chosen, lines][:, :, None]
            yield chosen, lines, units.tanh_()
