"""The groups of features that explain a head, added one after the other by what each gains on held-out documents."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.design import Columns, Design, Floats, Integers
from headscope.analyses.explanation.feature import TOKENS
from headscope.analyses.explanation.logit import RIDGE, Target, curvature, fit, log_softmax
from headscope.analyses.explanation.sample_design import TOKEN_RIDGES

LEAST_GAIN = 0.01
"""A group must add this share of what there is to explain, on held-out documents."""
_REFITTED = 2
"""Number of candidates that are fitted in each round, of those that promise most."""
_ROUGHLY = 3e-3
_STEPS_ALONG = 3


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


@dataclass(frozen=True, eq=False)
class Selected:
    """What explains a head.

    Attributes:
        groups: in the order in which they were added.
        alternatives: for each, the groups that would have done as well.
        columns: of the groups in the rows that selected them, with their penalties.
        coefficients: of the columns, where a fit of all rows may start.
    """

    groups: tuple[str, ...]
    alternatives: tuple[tuple[str, ...], ...]
    columns: Columns
    coefficients: Floats


@dataclass(frozen=True, eq=False)
class _Fit:
    """Groups with their coefficients, and the cross entropy of the held-out documents."""

    groups: tuple[str, ...]
    columns: Columns
    coefficients: Floats
    loss: float

    @property
    def width(self) -> int:
        return len(self.coefficients)


class Selector:
    """Selects groups for one head after the other.

    Plain groups are added first, then the biases of tokens; groups that the others make superfluous are dropped before
    those by what attends are tried, which could stand for any of them.

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
        self._plain = [name for name in blocks if name not in split.last and name != TOKENS]

    def select(self, attention: NDArray[np.floating[Any]]) -> Selected:
        """Select the groups that explain a head.

        Args:
            attention: of the head, `[cell]`.
        """
        head = _Head(self.split, attention)
        best, rivals = head.nothing, dict[str, list[str]]()
        while True:
            better = self._added(best, head, self._plain, rivals)
            if better is best:
                break
            best = better
        best = head.without_superfluous(self._with_tokens(best, head))
        best = self._added(best, head, sorted(self.split.last & set(self.split.screened.blocks)), rivals)
        best, alternatives = head.exchanged(best, rivals)
        return Selected(best.groups, alternatives, best.columns, best.coefficients)

    def _added(
        self, best: _Fit, head: "_Head", candidates: Iterable[str], rivals: dict[str, list[str]]
    ) -> _Fit:
        """Return the fit with the group that gains most, a narrower one where two do alike; the same if none gains.

        Args:
            best: the present fit.
            head: what is explained.
            candidates: the groups.
            rivals: takes the groups that nearly gained as much, by the group that is added.
        """
        promising = self._promising(best, head.screened, candidates)
        tried = [head.fit((*best.groups, group), best) for group in promising]
        most = min((each.loss for each in tried), default=best.loss)
        if best.loss - most < head.least:
            return best
        added = min((each for each in tried if each.loss < most + head.least), key=lambda each: each.width)
        rivals[added.groups[-1]] = [
            each.groups[-1] for each in tried if each is not added and each.loss < most + head.least
        ]
        return added

    def _with_tokens(self, best: _Fit, head: "_Head") -> _Fit:
        """Return the fit with biases of tokens under the penalty that gains most; the same if they gain too little."""
        if TOKENS not in self._coded or not self._promising(
            best, head.screened, [TOKENS], head.least_of_row / 2
        ):
            return best
        tried = best
        for ridge in reversed(TOKEN_RIDGES):
            weaker = head.fit((*best.groups, TOKENS), tried, ridge)
            if weaker.loss > tried.loss:
                break
            tried = weaker
        return tried if best.loss - tried.loss >= head.least else best

    def _promising(
        self, best: _Fit, target: Target, candidates: Iterable[str], least: float = 0.0
    ) -> list[str]:
        """Return the groups that gain most by a step of Newton's from the present fit, of the best length.

        Args:
            best: the present fit.
            target: the attention of the rows that groups are screened on.
            candidates: the groups.
            least: that a group must gain, per row.
        """
        design, joint, chosen = self.split.screened, self._joint, best.groups
        candidates = [group for group in candidates if group not in chosen]
        if not candidates:
            return []
        rows = target.n_rows
        logits = Columns(design, chosen).logits(best.coefficients)
        p = np.exp(log_softmax(logits, design)) * np.repeat(target.mass, design.lengths)
        error = target.attention - p
        gains = {}
        if any(group in joint.slices for group in candidates):
            used = Columns(design, [name for name in joint.slices if name in chosen or name in candidates])
            gradient = used.sums(error) / rows
            second = curvature(used, p, rows, RIDGE + used.ridge / rows)
        for group in candidates:
            if group in joint.slices:
                parts = [used.slices[name] for name in (*chosen, group) if name in used.slices]
                at = np.concatenate([np.arange(part.start, part.stop) for part in parts])
                step = np.zeros(len(gradient))
                step[at] = np.linalg.solve(second[np.ix_(at, at)], gradient[at])
                along = used.logits(step)
            else:
                columns = self._coded[group]
                diagonal = columns.sums(p * (1 - p)) / rows + RIDGE + columns.ridge / rows
                along = columns.logits(columns.sums(error) / rows / diagonal)
            gains[group] = _gain_along(logits, along, target, design)
        promising = sorted(gains, key=lambda group: -gains[group])[:_REFITTED]
        return [group for group in promising if gains[group] / rows >= least]


class _Head:
    """The attention of a head in the documents that select its groups.

    Attributes:
        screened: attention of the rows that groups are screened on.
        nothing: the fit without a group.
        least, least_of_row: the cross entropy that a group must gain, summed over held-out rows and of one row.
    """

    def __init__(self, split: Split, attention: NDArray[np.floating[Any]]) -> None:
        self.split = split
        self.screened = Target.of(attention[split.screened_cells], split.screened)
        self._fitted = Target.of(attention[split.fitted_cells], split.fitted)
        self._held_out = held_out = Target.of(attention[split.held_out_cells], split.held_out)
        uniform = self._loss(np.zeros(split.held_out.n_cells))
        logs = np.log(np.where(held_out.attention > 0, held_out.attention, 1.0))
        self.least = LEAST_GAIN * max(uniform + float(held_out.attention @ logs), 1e-12)
        self.least_of_row = self.least / held_out.n_rows
        self.nothing = _Fit((), Columns(split.fitted, ()), np.zeros(0), uniform)

    def fit(self, groups: tuple[str, ...], start: _Fit, token_ridge: float | None = None) -> _Fit:
        """Fit groups.

        Args:
            groups: their names.
            start: a fit of some of them, or of more.
            token_ridge: penalty on the biases of tokens; that of the start when None.
        """
        ridge = start.columns.token_ridge if token_ridge is None else token_ridge
        columns = Columns(self.split.fitted, groups, ridge)
        coefficients = columns.extended(start.coefficients, start.columns)
        coefficients = fit(columns, self._fitted, coefficients, tolerance=_ROUGHLY)
        loss = self._loss(Columns(self.split.held_out, groups).logits(coefficients))
        return _Fit(groups, columns, coefficients, loss)

    def without_superfluous(self, best: _Fit) -> _Fit:
        """Drop the groups without which less than a point is lost, those first without which least is lost."""
        while len(best.groups) > 1:
            # Without the last one, all that it added is lost.
            fewer = [self.fit(_without(best.groups, group), best) for group in best.groups]
            least = min(fewer, key=lambda each: each.loss)
            if least.loss >= best.loss + self.least:
                break
            best = least
        return best

    def exchanged(self, best: _Fit, rivals: dict[str, list[str]]) -> tuple[_Fit, tuple[tuple[str, ...], ...]]:
        """Put narrower groups in place of others where less than a point is lost; return what else would do as well."""
        alternatives = []
        for rank, group in enumerate(best.groups):
            as_well = []
            for rival in rivals.get(group, ()):
                if rival in best.groups:
                    continue
                other = self.fit((*best.groups[:rank], rival, *best.groups[rank + 1 :]), best)
                if other.loss < best.loss + self.least:
                    as_well.append(rival)
                    if other.width < best.width:
                        as_well[-1] = best.groups[rank]
                        best = other
            alternatives.append(tuple(as_well))
        return best, tuple(alternatives)

    def _loss(self, logits: Floats) -> float:
        return -float(self._held_out.attention @ log_softmax(logits, self.split.held_out))


def _without(groups: tuple[str, ...], group: str) -> tuple[str, ...]:
    return tuple(each for each in groups if each != group)


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
