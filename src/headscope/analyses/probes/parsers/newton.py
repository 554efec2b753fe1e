"""Newton's method for the probe over attention alone: the derivatives of its loss, and damped steps.

The damping is that of Levenberg 1944 and Marquardt 1963.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.analyses.probes.parsers.attention_probes import AttentionProbe
from headscope.analyses.probes.probe_data import ProbeBatch


@dataclass(frozen=True, eq=False)
class Slopes:
    """Sums over words, to be divided by `words`.

    Attributes:
        loss: loss in nats, `[run]` float64.
        words: number of words, `[run]` float64.
        gradient: `[run, parameter]` float64.
        curvature: second derivatives for scores that are linear in the parameters, positive semi-definite,
            `[run, parameter, parameter]` float64.
        coupling: second derivatives from the product of the root's shares and the weights, the same shape.
    """

    loss: Tensor
    words: Tensor
    gradient: Tensor
    curvature: Tensor
    coupling: Tensor

    def __add__(self, other: "Slopes") -> "Slopes":
        return Slopes(*(getattr(self, name) + getattr(other, name) for name in vars(self)))


@torch.no_grad()
def attention_slopes(probe: AttentionProbe, batch: ProbeBatch, mine: Tensor, *, drawn: Tensor | None = None) -> Slopes:
    """Return the loss over a batch, its gradient and its second derivatives.

    For a softmax over scores that are linear in the weights, the second derivatives are the covariance of the
    candidates' score features, whatever the right answers are. The root's share of two positions makes its score
    bilinear: the error of the root's probability adds a term that couples the shares to the weights.

    Args:
        probe: probe with any number of runs.
        batch: the sentences.
        mine: True for the sentences that each run learns from, `[run, batch]`.
        drawn: a number from 0 to 1 for each word, `[batch, word]`, which selects one candidate to represent all: the
            covariance without bias, at the cost of the gradient. If None, all candidates are used.
    """
    chances = probe.scores(batch).exp()
    targets = batch.targets[list(probe.tasks)].clamp(min=0)[..., None]
    mean, right = _features(probe, batch, torch.cat([chances, _only(chances, targets)])).chunk(2)
    counted = batch.valid & mine[..., None]
    loss = -chances.gather(3, targets)[..., 0].clamp(min=1e-30).log() * counted
    curvature = (
        _covariance(probe, batch, chances * counted[..., None], mean)
        if drawn is None
        else _drawn_covariance(probe, batch, chances, mean, counted, drawn)
    )
    root_error = (chances[..., 0] - (targets[..., 0] == 0).to(chances.dtype)) * counted
    return Slopes(
        loss=loss.sum((1, 2)).double().cpu(),
        words=counted.sum((1, 2)).double().cpu(),
        gradient=((mean - right) * counted[..., None]).sum((1, 2)).double().cpu(),
        curvature=curvature.double().cpu(),
        coupling=_coupling(probe, batch, root_error).double().cpu(),
    )


def _only(chances: Tensor, chosen: Tensor) -> Tensor:
    """Return probabilities with all mass on one candidate, `[run, batch, dependent, 1 + word]`."""
    return torch.zeros_like(chances).scatter_(3, chosen, 1.0)


def _coupling(probe: AttentionProbe, batch: ProbeBatch, away: Tensor) -> Tensor:
    """Return the error of the root's probability (`[run, batch, dependent]`) times the factors of its score."""
    size = 2 * batch.tables.shape[3]
    shares = 1 if probe.root.share is None else probe.root.share.shape[1]
    coupling = away.new_zeros((probe.runs, size + shares, size + shares))
    if probe.root.share is not None:
        coupling[:, :size, size:] = torch.einsum("rbd,bdxk->rkx", away, _specials(batch))
        coupling[:, size:, :size] = coupling[:, :size, size:].transpose(1, 2)
    return coupling


def _covariance(probe: AttentionProbe, batch: ProbeBatch, chances: Tensor, mean: Tensor) -> Tensor:
    """Return the covariance over all candidates, summed over words, `[run, parameter, parameter]`."""
    root = _features(probe, batch, _only(chances, torch.zeros_like(chances[..., :1], dtype=torch.int64)))
    pairs = torch.cat([batch.flipped, batch.tables], dim=3)
    pairs = torch.nn.functional.pad(pairs, (0, mean.shape[3] - pairs.shape[3]))
    covariances = []
    for run in range(probe.runs):
        off = torch.cat([root[run][:, :, None], pairs], dim=2).sub_(mean[run][:, :, None]).flatten(0, 2)
        covariances.append((off * chances[run].reshape(-1, 1)).T @ off)
    return torch.stack(covariances)


def _drawn_covariance(
    probe: AttentionProbe, batch: ProbeBatch, chances: Tensor, mean: Tensor, counted: Tensor, drawn: Tensor
) -> Tensor:
    """Estimate the covariance from one sampled candidate a word.

    The candidate is drawn half from the softmax and half from the uniform distribution, and weighted accordingly,
    because a confident softmax would never draw the candidates that it rules out.
    """
    possible = (chances > 0).to(chances.dtype)
    mixed = (chances + possible / possible.sum(-1, keepdim=True)) / 2
    sums = mixed.cumsum(-1)
    sampled = (sums < drawn[..., None] * sums[..., -1:]).sum(-1, keepdim=True)
    off = mean - _features(probe, batch, _only(chances, sampled))
    rows = off * (chances.gather(3, sampled) / mixed.gather(3, sampled)).sqrt() * counted[..., None]
    return rows.flatten(1, 2).transpose(1, 2) @ rows.flatten(1, 2)


def _features(probe: AttentionProbe, batch: ProbeBatch, of: Tensor) -> Tensor:
    """Return weighted sums over candidates of the derivatives of each candidate's score by the parameters.

    Args:
        probe: probe with any number of runs.
        batch: the sentences.
        of: weights of each run, once or several times over, `[run x times, batch, dependent, 1 + word]`.

    Returns:
        `[run x times, batch, dependent, parameter]`, in the order of `flat_weights`.
    """
    times = len(of) // probe.runs
    words, root = of[..., 1:], of[..., :1]
    down = torch.einsum("rbdc,bdck->rbdk", words, batch.flipped)
    up = torch.einsum("rbdc,bdck->rbdk", words, batch.tables)
    if probe.root.share is None:
        return torch.cat([down, up, root], dim=3)
    weights, share = probe.weights.flatten(1).repeat(times, 1), probe.root.share.repeat(times, 1)
    specials = _specials(batch)
    both = torch.cat([down, up], dim=3) + root * torch.einsum("rx,bdxk->rbdk", share, specials)
    return torch.cat([both, root * torch.einsum("rk,bdxk->rbdx", weights, specials)], dim=3)


def _specials(batch: ProbeBatch) -> Tensor:
    """Return attention from the two special positions to each word, then to them, `[batch, word, place, 2 x head]`."""
    return torch.cat([batch.to_words.transpose(1, 2), batch.to_special], dim=3)


def flat_weights(probe: AttentionProbe) -> Tensor:
    """Return all parameters of each run in one row: both directions' weights, then the root's, `[run, parameter]`."""
    root = probe.root.constant[:, None] if probe.root.share is None else probe.root.share  # type: ignore[index]
    return torch.cat([probe.weights.flatten(1), root], dim=1).detach().double().cpu()


@torch.no_grad()
def set_weights(probe: AttentionProbe, flat: Tensor) -> None:
    """Load parameters in the layout of `flat_weights`."""
    heads = probe.weights[0].numel()
    probe.weights.copy_(flat[:, :heads].view_as(probe.weights))
    if probe.root.share is not None:
        probe.root.share.copy_(flat[:, heads:])
    else:
        assert probe.root.constant is not None
        probe.root.constant.copy_(flat[:, heads])


# Ratios of actual to predicted gain above and below which the damping is decreased or increased.
_GOOD, _POOR = 0.75, 0.25
_EASE, _TIGHTEN, _REFUSED = 0.25, 2.0, 8.0
_RIDGE = 1e-8  # fraction of the curvature's diagonal, so that weights without data do not move
_CLOSE = 0.01  # gap below which the whole curvature is used, not only its positive semi-definite part
_STUCK = 1e9  # damping at which steps are lost in rounding


class Levenberg:
    """Minimizes a nonnegative function from its value, gradient and curvature at points that it chooses.

    Args:
        start: initial point, `[parameter]` float64.
        tolerance: largest final excess over the minimum, by its own estimate.

    Attributes:
        at: the point at which the function is evaluated next.
        point: the best point so far.
        value: value of the function at that point.
        gap: its excess over the minimum, estimated by a local quadratic: half g' H^-1 g; the value itself where that
            is less.
        done: True if the gap is within the tolerance.
        stuck: True if no step decreases the function any more although the gap exceeds the tolerance.
    """

    def __init__(self, start: Tensor, *, tolerance: float) -> None:
        self.at = self.point = start
        self.tolerance = tolerance
        self.value = self.gap = float("inf")
        self.done = False
        self._damping, self._predicted = 1.0, 0.0
        self._slope = (start, torch.eye(0))

    @property
    def stuck(self) -> bool:
        """See `Levenberg`."""
        return not self.done and self._damping > _STUCK

    def tell(self, value: float, gradient: Tensor, curvature: Tensor, remainder: Tensor | None = None) -> None:
        """Record the function's value and derivatives at `at`, and choose the next point.

        Args:
            value: value of the function.
            gradient: `[parameter]` float64.
            curvature: the positive semi-definite part of its second derivatives, `[parameter, parameter]` float64; far
                from the minimum only this part is used.
            remainder: the other part, without which many last steps are needed and the gap is unknown; None for none.
        """
        if self.done or self.stuck:
            return
        if value < self.value:
            self._trust((self.value - value) / self._predicted if self._predicted else 0.5)
            self.point, self.value = self.at, value
            self._look(gradient, curvature, curvature if remainder is None else curvature + remainder)
            self.done = self.gap <= self.tolerance
        else:
            self._damping *= _REFUSED
        slope, bend = self._slope
        while (step := _damped(slope, bend, self._damping)) is None:
            self._damping *= _REFUSED
        self._predicted = float(slope @ step - 0.5 * step @ bend @ step)
        self.at = self.point if self.done else self.point - step

    def _look(self, gradient: Tensor, curvature: Tensor, whole: Tensor) -> None:
        down, straight = _damped(gradient, curvature, _RIDGE), _damped(gradient, whole, _RIDGE)
        near = self.value if down is None else float(0.5 * gradient @ down)
        # If the second derivatives are not positive definite, the only bound on the minimum is 0.
        ahead = self.value if straight is None else float(0.5 * gradient @ straight)
        self.gap = min(self.value, max(near, ahead))
        self._slope = (gradient, whole if near < _CLOSE else curvature)

    def _trust(self, share: float) -> None:
        if share > _GOOD:
            self._damping = max(self._damping * _EASE, _RIDGE)
        elif share < _POOR:
            self._damping *= _TIGHTEN


def _damped(gradient: Tensor, curvature: Tensor, damping: float) -> Tensor | None:
    """Return the damped step, or None if the damped curvature is not positive definite."""
    diagonal = curvature.diagonal()
    damped = damping * diagonal.clamp(min=1e-12 * float(diagonal.max()) + 1e-15)
    factor, failed = torch.linalg.cholesky_ex(curvature + torch.diag(damped))
    return None if failed else torch.cholesky_solve(gradient[:, None], factor)[:, 0]
