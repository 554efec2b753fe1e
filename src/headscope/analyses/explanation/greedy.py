"""The groups of features that explain a head, added one after the other by what each gains on held-out documents."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.design import Columns, Design, Floats, Integers
from headscope.analyses.explanation.logit import RIDGE, Target, fit, log_softmax

LEAST_GAIN = 0.01
"""A group must add this share of what there is to explain, on held-out documents."""
_REFITTED = 2
"""Number of candidates that are fitted in each round, of those that promise most."""
_ROUGHLY = 1e-4
_STEPS_ALONG = 4


@dataclass(frozen=True, kw_only=True, eq=False)
class Split:
    """Designs of the documents that a head's groups are selected on.

    Attributes:
        fitted, screened, held_out: designs of the rows that fit, of a part of these, and of the others.
        fitted_cells, screened_cells, held_out_cells: their cells among all.
        last: groups that are tried where no other gains: products of others, which could stand for any of them.
    """

    fitted: Design
    screened: Design
    held_out: Design
    fitted_cells: Integers
    screened_cells: Integers
    held_out_cells: Integers
    last: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Selected:
    """Groups in the order in which they were added, and for each the groups that would have done as well."""

    groups: tuple[str, ...]
    alternatives: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, eq=False)
class _Fit:
    """Groups with their coefficients, and the cross entropy of the held-out documents."""

    groups: tuple[str, ...]
    columns: Columns
    coefficients: Floats
    loss: float


class Selector:
    """Selects groups for one head after the other.

    Args:
        split: the documents.
    """

    def __init__(self, split: Split) -> None:
        self.split = split
        blocks = split.screened.blocks
        self._joint = Columns(split.screened, [name for name, block in blocks.items() if block.codes is None])
        self._coded = {
            name: Columns(split.screened, [name]) for name, block in blocks.items() if block.codes is not None
        }

    def select(self, attention: NDArray[np.floating[Any]]) -> Selected:
        """Select the groups that explain a head.

        Args:
            attention: of the head, `[cell]`.
        """
        split = self.split
        fitted, screened, held_out = (
            Target.of(attention[cells], design)
            for design, cells in (
                (split.fitted, split.fitted_cells),
                (split.screened, split.screened_cells),
                (split.held_out, split.held_out_cells),
            )
        )
        uniform = _cross_entropy(np.zeros(split.held_out.n_cells), held_out, split.held_out)
        logs = np.log(np.where(held_out.attention > 0, held_out.attention, 1.0))
        least = LEAST_GAIN * max(uniform + float(held_out.attention @ logs), 1e-12)
        best = _Fit((), Columns(split.fitted, ()), np.zeros(0), uniform)
        rivals: list[list[str]] = []
        for last in (False, True):
            while True:
                promising = self._promising(best, screened, last=last)
                tried = [self._fit((*best.groups, group), fitted, held_out, best) for group in promising]
                step_best = min(tried, key=lambda each: each.loss, default=best)
                if best.loss - step_best.loss < least:
                    break
                rivals.append(
                    [
                        each.groups[-1]
                        for each in tried
                        if step_best.loss < each.loss < step_best.loss + 2 * least
                    ]
                )
                best = step_best
        return Selected(
            best.groups,
            tuple(
                tuple(
                    rival
                    for rival in of_group
                    if self._stands_for(rival, rank, best, fitted, held_out, least)
                )
                for rank, of_group in enumerate(rivals)
            ),
        )

    def _stands_for(
        self, rival: str, rank: int, best: _Fit, fitted: Target, held_out: Target, least: float
    ) -> bool:
        """Return whether another group in rank of a selected one loses less than what a group must add."""
        if rival in best.groups:
            return False
        groups = (*best.groups[:rank], rival, *best.groups[rank + 1 :])
        return self._fit(groups, fitted, held_out).loss < best.loss + least

    def _fit(
        self, groups: tuple[str, ...], fitted: Target, held_out: Target, before: _Fit | None = None
    ) -> _Fit:
        columns = Columns(self.split.fitted, groups)
        start = None if before is None else columns.extended(before.coefficients, before.columns)
        coefficients = fit(columns, fitted, start, tolerance=_ROUGHLY)
        logits = Columns(self.split.held_out, groups).logits(coefficients)
        return _Fit(groups, columns, coefficients, _cross_entropy(logits, held_out, self.split.held_out))

    def _promising(self, best: _Fit, target: Target, *, last: bool) -> list[str]:
        """Return the groups that gain most by a step of Newton's from the present fit, of the best length.

        Args:
            best: the present fit.
            target: the attention of the rows that groups are screened on.
            last: whether the groups that come last are tried, in place of the others.
        """
        design, joint, chosen = self.split.screened, self._joint, best.groups
        candidates = [
            group for group in design.blocks if group not in chosen and (group in self.split.last) == last
        ]
        if not candidates:
            return []
        rows = target.n_rows
        logits = Columns(design, chosen).logits(best.coefficients)
        p = np.exp(log_softmax(logits, design)) * np.repeat(target.mass, design.lengths)
        gradient = joint.sums(target.attention - p) / rows
        means = joint.by_row(p)
        curvature = (joint.products(p) - means.T @ means) / rows + np.diag(RIDGE + joint.ridge / rows + 1e-9)
        gains = {}
        for group in candidates:
            if group in joint.slices:
                parts = [joint.slices[name] for name in (*chosen, group) if name in joint.slices]
                at = np.concatenate([np.arange(part.start, part.stop) for part in parts])
                step = np.zeros(len(gradient))
                step[at] = np.linalg.solve(curvature[np.ix_(at, at)], gradient[at])
                along = joint.logits(step)
            else:
                columns = self._coded[group]
                diagonal = columns.sums(p * (1 - p)) / rows + RIDGE + columns.ridge / rows
                along = columns.logits(columns.sums(target.attention - p) / rows / diagonal)
            gains[group] = _gain_along(logits, along, target, design)
        return sorted(gains, key=lambda group: -gains[group])[:_REFITTED]


def _gain_along(logits: Floats, along: Floats, target: Target, design: Design) -> float:
    """Return the most that is gained by adding a multiple of some logits, by Newton's method in one dimension."""
    mass = np.repeat(target.mass, design.lengths)
    linear = float(target.attention @ along)
    start = best = -float(target.attention @ log_softmax(logits, design))
    # The curvature at 0 misleads where keys are rare: the step is at most one that adds a few nats to any key.
    times = min(1.0, 3.0 / max(1e-12, float(np.abs(along).max())))
    for _ in range(_STEPS_ALONG):
        log_p = log_softmax(logits + times * along, design)
        best = min(best, -float(target.attention @ log_p))
        p = np.exp(log_p) * mass
        means = design.row_sums(p * along)
        bend = float(p @ along**2) - float(means @ means)
        if bend <= 0:
            break
        times = min(max(times + (linear - float(means.sum())) / bend, times / 4), times * 4)
    return start - best


def _cross_entropy(logits: Floats, target: Target, design: Design) -> float:
    return -float(target.attention @ log_softmax(logits, design))
