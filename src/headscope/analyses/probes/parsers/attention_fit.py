"""Fitting the probe over attention alone to within a thousandth of a nat of its optimum.

The weights are few, and the loss is convex in them except for the root's share, so no small steps are needed: damped
Newton steps over all of train converge in about ten passes, and estimate the distance from the optimum.
"""

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.probes.parsers.attention_probes import AttentionProbe
from headscope.analyses.probes.parsers.newton import Levenberg, Slopes, attention_slopes, flat_weights, set_weights
from headscope.analyses.probes.probe_data import ProbeData

TOLERANCE = 1e-4  # nats a word, as estimated by the fit; a tenth of the documented tolerance
_ROUGHLY = 2e-4  # nats: the tolerance of the first descent
_SAME = 1e-3  # nats: largest difference between two descents to the same optimum
_PER_WEIGHT = 64  # words per weight: enough words to tell good starts from bad ones
_NEAR = 0.02  # nats; a start that is worse by more on such a sample is not better on all sentences
_EXACTLY = 2e9  # multiplications of a pass up to which the curvature is computed from all candidates
# The loss is convex for fixed shares of the root, so the initial shares decide the optimum; starts lie on a circle.
_AROUND, _SHARE = 8, 0.3


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """Options for the fit of the probe.

    Attributes:
        tolerance: largest excess of the final loss over its optimum, in nats a word.
        passes: largest number of passes over the treebank, for each start.
        sentences: largest number of sentences in a batch.
        weights: largest number of values in a batch's tables, which bounds memory.
        seed: seed of the random draws.
    """

    tolerance: float = TOLERANCE
    passes: int = 100
    sentences: int = 64
    weights: int = 1 << 23
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Fitted:
    """The result of fitting the probe.

    Attributes:
        loss: loss on the training sentences of each run, in nats a word, `[run]`.
        gap: excess of the loss over the optimum, estimated by a local quadratic, `[run]`.
        passes: number of passes over the whole treebank, all starts together.
        settled: True for each run that came within the tolerance, `[run]`.
    """

    loss: NDArray[np.float64]
    gap: NDArray[np.float64]
    passes: int
    settled: NDArray[np.bool_]


def fit_attention(
    probe: AttentionProbe,
    data: ProbeData,
    held_out: NDArray[np.bool_],
    *,
    options: FitOptions | None = None,
    device: torch.device | str = "cpu",
    progress: Callable[[int, int], None] | None = None,
) -> Fitted:
    """Fit every run of a probe to its training sentences.

    The best of several starts is found on a sample; the fit then continues over all sentences from there, and from
    another start if it was nearly as good.

    Args:
        probe: fitted in place.
        data: the treebank.
        held_out: True for the sentences that each run holds out, as in `probe_training`.
        options: options for the fit.
        device: device to fit on.
        progress: callback with the number of the pass, from 0, and the number of its sentences that are done.
    """
    fit = _Fit(probe.to(device), data, held_out, options or FitOptions(), device, progress)
    sample = fit.sample()
    rough: list[list[Levenberg]] = []
    for start in _starts(probe):
        rough.append(fit.descend(start, sample, tolerance=_ROUGHLY))
        if all(run.value <= _SAME for run in rough[-1]):
            # No other start can be better.
            break
    best: list[Levenberg] = []
    for chosen in _candidates(rough):
        fitted = fit.descend(chosen, data.numbers, tolerance=fit.options.tolerance)
        best = [min(pair, key=lambda run: run.value) for pair in zip(best, fitted)] if best else fitted
    set_weights(probe, _points(best))
    return Fitted(
        loss=np.array([run.value for run in best]),
        gap=np.array([run.gap for run in best]),
        passes=fit.passes,
        settled=np.array([run.done for run in best]),
    )


def _starts(probe: AttentionProbe) -> list[Tensor]:
    """Return the starting points, `[run, parameter]` each: all weights zero, the root's shares on a circle.

    The probe's initial weights are not used, so that its runs differ only by their held-out sentences.
    """
    nothing = torch.zeros_like(flat_weights(probe))
    if probe.root.share is None:
        return [nothing]
    angles = [2 * math.pi * (number + 0.5) / _AROUND for number in range(_AROUND)]
    shares = [nothing.new_tensor([math.cos(angle), math.sin(angle)]) for angle in angles]
    return [torch.cat([nothing[:, :-2], _SHARE * share.expand(len(nothing), -1)], dim=1) for share in shares]


def _points(runs: Sequence[Levenberg]) -> Tensor:
    return torch.stack([run.point for run in runs])


def _candidates(rough: Sequence[Sequence[Levenberg]]) -> list[Tensor]:
    """Return the points from which the fit continues: each run's best, and an alternative optimum nearly as good.

    Args:
        rough: the result of each start, `[start][run]`.
    """
    ranked = [sorted(each, key=lambda run: run.value) for each in zip(*rough)]
    alternatives = []
    for runs in ranked:
        near = (run for run in runs[1:] if _SAME < run.value - runs[0].value < _NEAR)
        alternatives.append(next(near, runs[0]))
    best = [runs[0] for runs in ranked]
    several = any(alternative is not run for run, alternative in zip(best, alternatives))
    return [_points(best), *([_points(alternatives)] if several else [])]


class _Fit:
    """A probe, its training sentences, and the options of the fit."""

    def __init__(
        self,
        probe: AttentionProbe,
        data: ProbeData,
        held_out: NDArray[np.bool_],
        options: FitOptions,
        device: torch.device | str,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        self.data, self.options, self.device, self.progress = data, options, device, progress
        # float32 would lose the differences between heads that are nearly alike.
        self.dtype = torch.float32 if torch.device(device).type == "mps" else torch.float64
        self.probe = deepcopy(probe).to(self.dtype)
        self.mine = ~held_out[np.arange(probe.runs) % len(held_out)]
        self.passes = 0

    def sample(self) -> NDArray[np.int64]:
        """Draw sentences with `_PER_WEIGHT` words for each weight; all sentences if that is more than half of them."""
        numbers = self.data.numbers
        order = np.random.default_rng([self.options.seed, 11]).permutation(numbers)
        words = np.cumsum([len(self.data.words[number]) for number in order.tolist()])
        enough = _PER_WEIGHT * flat_weights(self.probe).shape[1]
        return numbers if 2 * enough > words[-1] else np.sort(order[: np.searchsorted(words, enough) + 1])

    def descend(self, start: Tensor, numbers: NDArray[np.int64], *, tolerance: float) -> list[Levenberg]:
        """Minimize from a start, `[run, parameter]`, all runs in the same passes over some sentences."""
        runs = [Levenberg(each, tolerance=tolerance) for each in start]
        for number in range(self.options.passes):
            set_weights(self.probe, torch.stack([run.at for run in runs]))
            slopes = self._pass(numbers, number)
            words = slopes.words.clamp(min=1)
            for at, run in enumerate(runs):
                names = ("gradient", "curvature", "coupling")
                run.tell(float(slopes.loss[at] / words[at]), *(getattr(slopes, name)[at] / words[at] for name in names))
            if all(run.done or run.stuck for run in runs):
                break
        return runs

    def _pass(self, numbers: NDArray[np.int64], number: int) -> Slopes:
        generator = torch.Generator().manual_seed(self.options.seed * 1000 + number)
        exactly = self._exactly(numbers)
        total: Slopes | None = None
        done = 0
        for chosen in self.data.cut(numbers, most=self.options.sentences, weights=self.options.weights // 2):
            batch = self.data.batch(chosen, device=self.device).to(self.dtype)
            drawn = None if exactly else torch.rand(batch.words.shape, generator=generator).to(self.device)
            mine = torch.from_numpy(self.mine[:, chosen]).to(self.device)
            slopes = attention_slopes(self.probe, batch, mine, drawn=drawn)
            total = slopes if total is None else total + slopes
            done += len(chosen)
            if self.progress is not None and len(numbers) == len(self.data.numbers):
                self.progress(self.passes, done)
        self.passes += len(numbers) == len(self.data.numbers)
        assert total is not None
        return total

    def _exactly(self, numbers: NDArray[np.int64]) -> bool:
        """Return True if sentences are few enough for the exact curvature; with few, sampling would be too rough."""
        pairs = sum(len(self.data.words[number]) ** 2 for number in numbers.tolist())
        return pairs * flat_weights(self.probe).shape[1] ** 2 <= _EXACTLY
