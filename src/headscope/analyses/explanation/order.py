"""Order groups of features by their gain in predicting a head; each group is fitted on top of the groups before it.

In each step every head selects the group with the largest gain on rows to which it was not fitted; then all its groups
are rescaled together. Groups whose columns are products of others are tried when no other group gains a point. A head
is done when no group gains a point. The gains are measured later, on the other half of the documents.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from headscope.analyses.explanation.fit import RIDGE, Problem, curvature, fit
from headscope.analyses.explanation.row_block import Doubles, Flags, Floats, Integers, RowBlock, key_sums

LEAST_GAIN = 0.01
"""Least gain of a group, as a share of the divergence to explain."""
MOST_GROUPS = 4
_CANDIDATES = 3
"""Number of groups that are fitted in each step, chosen by the gain estimated from slope and curvature."""
_STEPS, _NEWTON = 5, 3


@dataclass(kw_only=True, eq=False)
class Step:
    """A group that a head selected.

    Attributes:
        group: name of the group.
        coefficients: coefficients of its columns, `[column]`.
        scales: factors of the coefficients of all groups up to this one, refitted when it was added.
        alternatives: groups with the same gain, to within a point, that gain nothing once this group is added.
    """

    group: str
    coefficients: Floats
    scales: tuple[float, ...] = ()
    alternatives: tuple[str, ...] = ()


def step_logits(block: RowBlock, steps: Mapping[int, Step], groups: Mapping[str, slice], heads: int) -> Floats:
    """Compute the logits that a step adds, `[row * key, head]`; 0 for heads without a step.

    Args:
        block: rows.
        steps: step of each head, by the head's index.
        groups: columns of each group.
        heads: number of heads.
    """
    logits = np.zeros((len(block.features), heads), block.features.dtype)
    for group in dict.fromkeys(step.group for step in steps.values()):
        of_group = [head for head, step in steps.items() if step.group == group]
        coefficients = np.stack([steps[head].coefficients for head in of_group], axis=1)
        logits[:, of_group] = block.logits(coefficients, groups[group])
    return logits


@dataclass(frozen=True, kw_only=True, eq=False)
class _Rows(Problem):
    """Some rows with the attention of all heads, and the prediction so far.

    Attributes:
        before: logits of the prediction in each block, `[row * key, head]`.
        steps: logits of each step in each block.
    """

    before: list[Floats] = field(default_factory=list)
    steps: list[list[Floats]] = field(default_factory=list)

    @classmethod
    def of(cls, blocks: Sequence[RowBlock], attention: Floats) -> "_Rows":
        """Return rows that no step predicts yet."""
        targets = [block.targets(attention) for block in blocks]
        before = [step_logits(block, {}, {}, len(attention)) for block in blocks]
        return cls(blocks=blocks, targets=targets, before=before)

    def problem(self, columns: slice, heads: Integers) -> Problem:
        """Return the problem of fitting some columns to some heads on top of the prediction so far."""
        targets, offsets = [each[..., heads] for each in self.targets], [each[:, heads] for each in self.before]
        return Problem(blocks=self.blocks, targets=targets, offsets=offsets, columns=columns)

    def divergence(self, heads: Integers, columns: slice, coefficients: Floats) -> Doubles:
        """Compute the mean divergence of heads from a prediction, up to a constant, `[head]`."""
        total = np.zeros(len(heads))
        for block, target, before in zip(self.blocks, self.targets, self.before, strict=True):
            logits = before[:, heads] + block.logits(coefficients, columns)
            total += block.cross_entropy(target[..., heads], logits).sum(0, dtype=np.float64)
        return total / self.mass[heads]

    def to_explain(self) -> Doubles:
        """Compute the mean divergence of the attention of heads from uniform attention, nats, `[head]`."""
        total = np.zeros(len(self.mass))
        for block, target in zip(self.blocks, self.targets, strict=True):
            of_rows = key_sums(target)
            n_visible = np.maximum(block.visible.sum(1), 1)[:, None]
            total += _entropy_terms(target) - _entropy_terms(of_rows[:, None]) + (of_rows * np.log(n_visible)).sum(0)
        return total / self.mass

    def scale(self, heads: Integers, scales: Floats) -> None:
        """Set the prediction of some heads to the sum of their steps times their scales, `[step, head]`."""
        for number, logits in enumerate(self.before):
            factors = scales.astype(logits.dtype)
            logits[:, heads] = sum(step[number][:, heads] * factor for step, factor in zip(self.steps, factors))

    def scales(self, heads: Integers) -> Doubles:
        """Compute the factors of all steps of some heads that minimize the divergence, `[step, head]`."""
        number = len(self.steps)
        scales = np.ones((number, len(heads)))
        for _ in range(_NEWTON):
            slope, second = np.zeros(scales.shape), np.zeros((len(heads), number, number))
            for index, (block, target) in enumerate(zip(self.blocks, self.targets, strict=True)):
                of_heads = target[..., heads]
                steps = [step[index][:, heads].reshape(of_heads.shape) for step in self.steps]
                logits = sum(step * factor for step, factor in zip(steps, scales.astype(of_heads.dtype), strict=True))
                predicted, _ = block.probabilities(np.asarray(logits).reshape(-1, len(heads)))
                mass = key_sums(of_heads)
                means = [np.einsum("rkh,rkh->rh", predicted, step) for step in steps]
                for first, (of_first, mean) in enumerate(zip(steps, means, strict=True)):
                    slope[first] += (mean * mass).sum(0) - np.einsum("rkh,rkh->h", of_first, of_heads)
                    for other in range(first + 1):
                        product = np.einsum("rkh,rkh->rh", predicted * of_first, steps[other]) - mean * means[other]
                        second[:, first, other] += (product * mass).sum(0)
            second += np.tril(second, -1).swapaxes(1, 2)
            # A penalty on the distance from 1, with the weight of one row, stabilizes steps that cancel each other.
            second += np.eye(number)
            change = np.linalg.solve(second, (slope + scales - 1).T[..., None])[..., 0].T
            scales = scales - np.clip(change, -1.0, 1.0)
        return scales

    def slopes(self) -> tuple[Floats, list[Floats]]:
        """Compute the gradient of each head's divergence in all columns, `[column, head]`, and mean predictions."""
        excess, predictions = list[Floats](), list[Floats]()
        for block, target, before in zip(self.blocks, self.targets, self.before, strict=True):
            predicted, _ = block.probabilities(before)
            predicted *= key_sums(target)[:, None]
            excess.append(predicted - target)
            predictions.append(predicted.mean(2, keepdims=True))
        return self.sums(excess) / self.mass, predictions


def order_groups(
    fitting: Sequence[RowBlock], choosing: Sequence[RowBlock], attention: Floats, groups: Mapping[str, slice],
    products: frozenset[str],
) -> list[list[Step]]:  # fmt: skip
    """Select the groups of each head, in order.

    Args:
        fitting: rows to which groups are fitted.
        choosing: rows on which the gains of groups are compared.
        attention: `[head, cell]`.
        groups: columns of each group.
        products: groups that are tried after all others.
    """
    heads = len(attention)
    fits, compares = _Rows.of(fitting, attention), _Rows.of(choosing, attention)
    least = LEAST_GAIN * compares.to_explain()
    taken: list[list[Step]] = [[] for _ in range(heads)]
    alike: list[Sequence[str]] = [()] * heads
    names = list(groups)
    plain = np.array([name not in products for name in names])
    open_heads = np.flatnonzero(least > 0)
    for _ in range(MOST_GROUPS):
        promised, curvatures = _promised(fits, groups, open_heads)
        now = np.zeros(heads)
        now[open_heads] = compares.divergence(open_heads, slice(0, 0), np.zeros((0, len(open_heads))))
        for head, of_head in zip(open_heads.tolist(), promised.T, strict=True):
            of_head[[names.index(step.group) for step in taken[head]]] = 0.0
        gains: dict[int, dict[str, tuple[float, Floats]]] = {int(head): {} for head in open_heads}
        for allowed in (plain, ~plain):
            best = [max((gain for gain, _ in gains[head].values()), default=0.0) for head in open_heads.tolist()]
            short = np.array(best) < least[open_heads]
            tried = _candidates(np.where(allowed[:, None] & short, promised, 0.0))
            for number, name in enumerate(names):
                were_alike = np.array([name in alike[head] for head in open_heads.tolist()])
                wanted = open_heads[tried[number] | (short & allowed[number] & were_alike)]
                if not len(wanted):
                    continue
                columns = groups[name]
                problem = fits.problem(columns, wanted)
                estimates = fit(problem, RIDGE, steps=_STEPS, second=curvatures[number])
                gained = now[wanted] - compares.divergence(wanted, columns, estimates)
                for index, head in enumerate(wanted.tolist()):
                    gains[head][name] = (float(gained[index]), estimates[:, index])
        chosen: dict[int, Step] = {}
        for head, fitted in gains.items():
            if alike[head]:
                # Groups with the same gain as the last step that gain nothing on top of it would have done as well.
                as_well = (name for name in alike[head] if name in fitted and fitted[name][0] < least[head])
                taken[head][-1].alternatives = tuple(as_well)
            best_group = max(fitted, key=lambda each: fitted[each][0], default=None)
            if best_group is None or fitted[best_group][0] < least[head]:
                continue
            gain, coefficients = fitted[best_group]
            near = gain - least[head]
            alike[head] = [name for name, (of_other, _) in fitted.items() if name != best_group and of_other >= near]
            chosen[head] = Step(group=best_group, coefficients=coefficients)
            taken[head].append(chosen[head])
        if not chosen:
            break
        open_heads = np.array(list(chosen))
        for rows in (fits, compares):
            rows.steps.append([step_logits(block, chosen, groups, heads) for block in rows.blocks])
        scales = fits.scales(open_heads)
        for rows in (fits, compares):
            rows.scale(open_heads, scales)
        for step, of_head in zip(chosen.values(), scales.T.tolist(), strict=True):
            step.scales = tuple(of_head)
    return taken


def _promised(rows: _Rows, groups: Mapping[str, slice], heads: Integers) -> tuple[Doubles, list[Doubles]]:
    """Estimate the gain of each group from its slope and the curvature, `[group, head]`.

    The gain of a quadratic is half of g' C^-1 g, with the gradient g in the columns of the group and the curvature C at
    the mean prediction of all heads.

    Returns:
        The gains, and the curvature of each group, `[column, column]`.
    """
    gradient, predictions = rows.slopes()
    promised, curvatures = np.zeros((len(groups), len(heads))), list[Doubles]()
    for number, columns in enumerate(groups.values()):
        second = curvature(Problem(blocks=rows.blocks, targets=predictions, columns=columns))
        damped = second + np.diag(1e-3 * second.diagonal() + 1e-6)
        slopes = gradient[columns][:, heads].astype(np.float64)
        promised[number] = 0.5 * (slopes * np.linalg.solve(damped, slopes)).sum(0)
        curvatures.append(second)
    return promised, curvatures


def _candidates(promised: Doubles) -> Flags:
    """Return a mask of the groups that are fitted for each head, `[group, head]`.

    They are the `_CANDIDATES` groups with the largest estimated gains, if these are at least half of the largest.
    """
    order = np.argsort(-promised, axis=0, kind="stable")[:_CANDIDATES]
    candidates = np.zeros(promised.shape, dtype=bool)
    np.put_along_axis(candidates, order, True, axis=0)
    enough: Flags = (promised > 0) & (promised >= promised.max(0) / 2)
    return candidates & enough


def _entropy_terms(values: Floats) -> Doubles:
    """Sum w ln w over all axes but the last, `[head]`."""
    return np.asarray((values * np.log(np.maximum(values, np.finfo(values.dtype).tiny))).sum((0, 1), dtype=np.float64))
