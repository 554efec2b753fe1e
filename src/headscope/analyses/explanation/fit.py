"""Fit linear combinations of features that predict the attention of all heads, as one convex problem.

In row i, head h is predicted to attend to key j with weight p_ij = softmax_j(x_ij . b_h), where x_ij are the features
of the cell (i, j). With the attention a_ij and its sum m_i over the keys that count, the fit minimizes for every head

    1/M [ sum_i (m_i ln sum_j exp(x_ij . b_h) - sum_j a_ij x_ij . b_h) + ridge_h / 2 |b_h|^2 ],   M = sum_i m_i,

which is the mean divergence KL(a || p) up to a constant, plus the penalty. Method: L-BFGS (Liu and Nocedal 1989) with a
step length for each head, preconditioned by the curvature at the mean attention of all heads. A step takes two matrix
products.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headscope.analyses.explanation.row_block import Doubles, Floats, Integers, RowBlock, key_sums

RIDGE = 1.0
"""Penalty on squared coefficients, in rows."""
STEPS = 12
"""Maximum number of steps; beyond 12 the explained share of the median head changes by less than 0.0005."""
_MEMORY, _HALVINGS, _ARMIJO = 8, 10, 1e-4
Pair = tuple[Floats, Floats, Floats]
"""Memory of L-BFGS for each head: a step s, the change y of the gradient over it, and 1 / (s . y); see `_pair`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    """The problem of fitting the attention of heads in some rows.

    Attributes:
        blocks: blocks of rows.
        targets: attention in each block, `[row, key, head]`.
        offsets: fixed logits in each block that are added to the prediction, `[row * key, head]`.
        columns: columns that are fitted; all if not given.
    """

    blocks: Sequence[RowBlock]
    targets: Sequence[Floats]
    offsets: Sequence[Floats] | None = None
    columns: slice | None = None

    @classmethod
    def of(cls, blocks: Sequence[RowBlock], attention: Floats) -> "Problem":
        """Return the problem of fitting all columns of some blocks to attention, `[head, cell]`."""
        return cls(blocks=blocks, targets=[block.targets(attention) for block in blocks])

    @property
    def heads(self) -> int:
        """The number of heads."""
        return int(self.targets[0].shape[-1])

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(len(block.rows) for block in self.blocks)

    def logits(self, coefficients: Floats) -> list[Floats]:
        """Compute the logits in each block without the offsets, `[row * key, head]`.

        Args:
            coefficients: `[column, head]`.
        """
        return [block.logits(coefficients, self.columns) for block in self.blocks]

    def sums(self, values: Sequence[Floats]) -> Floats:
        """Sum the fitted columns over all cells, weighted by the values of each block, `[column, head]`."""
        parts = [block.sums(of_block, self.columns) for block, of_block in zip(self.blocks, values, strict=True)]
        return np.asarray(sum(parts[1:], start=parts[0]))

    @cached_property
    def mass(self) -> Doubles:
        """The sum of the attention of each head, at least 1e-12, `[head]`."""
        totals = sum(target.sum((0, 1), dtype=np.float64) for target in self.targets)
        return np.asarray(np.maximum(totals, 1e-12))


def curvature(problem: Problem) -> Doubles:
    """Compute the second derivative of the mean divergence at the mean attention of all heads, `[column, column]`."""
    total, mass = 0.0, 0.0
    for block, target in zip(problem.blocks, problem.targets, strict=True):
        features = block.dense(problem.columns)
        weights = target.mean(2)
        of_rows = weights.sum(1)
        weighted = features * weights.reshape(-1, 1)
        means = weighted.reshape(*block.visible.shape, -1).sum(1)
        total = total + weighted.T @ features - means.T @ (means / np.maximum(of_rows, 1e-12)[:, None])
        mass += float(of_rows.sum())
    return np.asarray(total, dtype=np.float64) / max(mass, 1e-12)


def fit(
    problem: Problem, ridge: Floats | float, *, start: Floats | None = None, steps: int = STEPS,
    tolerance: float = 1e-4, second: Doubles | None = None, memory: list[Pair] | None = None,
) -> Floats:  # fmt: skip
    """Fit the coefficients that predict the attention of each head, `[column, head]`.

    Args:
        problem: rows and attention.
        ridge: penalty on the square of a coefficient, in rows, one for all heads or `[head]`.
        start: coefficients to start from; 0 if not given.
        steps: largest number of steps.
        tolerance: the fit ends when no head's mean divergence falls by this much in a step, in nats.
        second: curvature, if it is known.
        memory: last steps of an earlier fit with the same curvature, which this fit continues and adds to.
    """
    dtype = problem.blocks[0].features.dtype
    mass = problem.mass
    penalty = np.broadcast_to(ridge, problem.heads) / mass
    second = curvature(problem) if second is None else second
    width = len(second)
    damped = second + np.diag(float(np.median(penalty)) + 1e-6 + 1e-4 * second.diagonal())
    factor = np.linalg.cholesky(damped)
    inverse = np.linalg.inv(factor).astype(dtype)
    factor = factor.astype(dtype)
    coefficients = np.zeros((width, problem.heads), dtype) if start is None else start.astype(dtype)
    linear = problem.sums(problem.targets)
    of_rows = [key_sums(target) for target in problem.targets]

    def evaluate(logits: Sequence[Floats], at: Floats, heads: Integers | slice) -> tuple[Doubles, list[Floats]]:
        """Return the objective of some heads, and m p in each block."""
        total: Doubles = np.zeros(at.shape[1])
        predicted = []
        for block, of_block, rows in zip(problem.blocks, logits, of_rows, strict=True):
            of_heads, logs = block.probabilities(of_block, rows[:, heads])
            total += (rows[:, heads] * logs).sum(0, dtype=np.float64)
            predicted.append(of_heads)
        total -= (linear[:, heads] * at).sum(0, dtype=np.float64)
        return total / mass[heads] + 0.5 * penalty[heads] * (at * at).sum(0, dtype=np.float64), predicted

    def slope(predicted: Sequence[Floats], at: Floats) -> Floats:
        """Return the gradient of each head's objective, `[column, head]`."""
        return ((problem.sums(predicted) - linear) / mass + penalty * at).astype(dtype)

    logits: Sequence[Floats] = problem.logits(coefficients)
    if problem.offsets is not None:
        logits = [values + offset for values, offset in zip(logits, problem.offsets, strict=True)]
    value, predicted = evaluate(logits, coefficients, slice(None))
    gradient = slope(predicted, coefficients)
    memory = [] if memory is None else memory
    for _ in range(steps):
        step = -(inverse.T @ _direction(inverse @ gradient, memory))
        falls = (step * gradient).sum(0)
        if not (falls < 0).any():
            break
        change = problem.logits(step)
        length = np.ones(problem.heads, dtype)
        moved = [before + each for before, each in zip(logits, change, strict=True)]
        now, predicted = evaluate(moved, coefficients + step, slice(None))
        for halving in range(_HALVINGS + 1):
            short = np.flatnonzero(now > value + _ARMIJO * length * falls)
            if not len(short):
                break
            # Where the step promises almost nothing, or after the last halving, only rounding errors remain.
            length[short] *= np.where((falls[short] < -1e-2 * tolerance) & (halving < _HALVINGS), 0.4, 0.0)
            shorter = [
                before[:, short] + each[:, short] * length[short] for before, each in zip(logits, change, strict=True)
            ]
            now[short], of_short = evaluate(shorter, coefficients[:, short] + step[:, short] * length[short], short)
            for block, of_block, part, of_part in zip(moved, predicted, shorter, of_short, strict=True):
                block[:, short], of_block[..., short] = part, of_part
        at = coefficients + step * length
        next_gradient = slope(predicted, at)
        memory.append(_pair(factor.T @ (at - coefficients), inverse @ (next_gradient - gradient)))
        del memory[:-_MEMORY]
        gain = value - now
        coefficients, logits, value, gradient = at, moved, now, next_gradient
        if gain.max() < tolerance:
            break
    return coefficients


def _pair(moved: Floats, turned: Floats) -> Pair:
    """Return a step and the change of the gradient over it, both 0 for heads that did not move, and 1 over their
    product."""
    product = (moved * turned).sum(0)
    known = product > 1e-14
    inverse = np.where(known, 1 / np.where(known, product, 1), 0).astype(moved.dtype)
    return moved * known, turned * known, inverse


def _direction(gradient: Floats, memory: Sequence[Pair]) -> Floats:
    """Multiply the gradient by the inverse curvature estimated from the last steps (the two loops of L-BFGS)."""
    direction = gradient.copy()
    scales = []
    for moved, turned, inverse in reversed(memory):
        scale = inverse * (moved * direction).sum(0)
        direction -= scale * turned
        scales.append(scale)
    if memory:
        moved, turned, _ = memory[-1]
        length = (turned * turned).sum(0)
        direction *= np.where(length > 0, (moved * turned).sum(0) / np.where(length > 0, length, 1), 1)
    for (moved, turned, inverse), scale in zip(memory, reversed(scales), strict=True):
        direction += moved * (scale - inverse * (turned * direction).sum(0))
    return direction
