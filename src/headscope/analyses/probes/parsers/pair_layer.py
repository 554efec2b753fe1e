"""A hidden layer over all pairs of words whose units are never all in memory at once."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

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
