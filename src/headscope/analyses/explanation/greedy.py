"""The groups of features that explain a head, added one after the other by what each gains on held-out documents."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.columns import Columns
from headscope.analyses.explanation.design import Floats
from headscope.analyses.explanation.feature import TOKENS
from headscope.analyses.explanation.logit import RIDGE, Prediction, Target, curvature, fit
from headscope.analyses.explanation.sample_design import TOKEN_RIDGES
from headscope.analyses.explanation.screening import Fit, Screen, Split, Step, single_columns

LEAST_GAIN = 0.01
"""A group must add this share of what there is to explain, on held-out documents."""
_REFITTED = 2
"""Number of candidates that are fitted in each round, of those that promise most."""
_WORTH_A_FIT = 0.5
"""A candidate is fitted where it promises so much of what the best one does."""
_ROUGHLY = 1e-2


class Selector:
    """Selects groups for one head after the other.

    Plain groups are added first, then the biases of tokens; groups that the others make superfluous are dropped before
    those by what attends are tried, which could stand for any of them.

    Args:
        split: the documents.
    """

    def __init__(self, split: Split) -> None:
        self.split, self._screen = split, Screen(split)

    def select(self, attention: NDArray[np.floating[Any]]) -> tuple[Fit, tuple[tuple[str, ...], ...]]:
        """Return the groups that explain a head, in the order in which they were added, fitted to what selected them.

        Args:
            attention: of the head, `[cell]`.

        Returns:
            Beside the fit, for each of its groups, the groups that would have done as well.
        """
        head = _Head(self.split, attention)
        best, rivals = head.nothing, dict[str, list[str]]()
        while True:
            better = self._added(best, head, self._screen.plain, rivals)
            if better is best:
                break
            best = better
        best = self._with_last(head.without_superfluous(self._with_tokens(best, head)), head)
        return head.exchanged(best, rivals)

    def _added(self, best: Fit, head: "_Head", candidates: Iterable[str], rivals: dict[str, list[str]]) -> Fit:
        """Return the fit with the group that gains most, a narrower one where two do alike; the same if none gains.

        Args:
            best: the present fit.
            head: what is explained.
            candidates: the groups.
            rivals: takes the groups that nearly gained as much, by the group that is added.
        """
        steps = self._screen.steps(best, head.screened, candidates)
        least = _WORTH_A_FIT * max((step.gain for step in steps), default=0.0)
        tried = [
            head.fit((*best.groups, step.group), best, step=step) for step in steps[:_REFITTED] if step.gain >= least
        ]
        most = min((each.loss for each in tried), default=best.loss)
        if best.loss - most < head.least:
            return best
        added = min((each for each in tried if each.loss < most + head.least), key=lambda each: each.width)
        rivals[added.groups[-1]] = [
            each.groups[-1] for each in tried if each is not added and each.loss < most + head.least
        ]
        return added

    def _with_last(self, best: Fit, head: "_Head") -> Fit:
        """Return the fit with the groups made of others that gain, tried in the order of what they promise."""
        before = best
        for step in self._screen.steps(best, head.screened, self._screen.last):
            if step.gain < head.least_of_row:
                break
            tried = head.fit((*best.groups, step.group), best, step=step if best is before else None)
            if best.loss - tried.loss >= head.least:
                best = tried
        return best

    def _with_tokens(self, best: Fit, head: "_Head") -> Fit:
        """Return the fit with biases of tokens under the penalty that gains most; the same if they gain too little."""
        if not self._screen.with_tokens:
            return best
        if self._screen.steps(best, head.screened, [TOKENS])[0].gain < head.least_of_row / 2:
            return best
        tried = best
        for ridge in reversed(TOKEN_RIDGES):
            weaker = head.fit((*best.groups, TOKENS), tried, ridge)
            if weaker.loss > tried.loss:
                break
            tried = weaker
        return tried if best.loss - tried.loss >= head.least else best


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
        uniform = self._loss(single_columns(split.held_out, ()), np.zeros(0))
        logs = np.log(np.where(held_out.attention > 0, held_out.attention, 1.0))
        self.least = LEAST_GAIN * max(uniform + float(held_out.attention @ logs), 1e-12)
        self.least_of_row = self.least / held_out.n_rows
        self.nothing = Fit((), single_columns(split.fitted, ()), np.zeros(0), uniform)

    def fit(
        self, groups: tuple[str, ...], start: Fit, token_ridge: float | None = None, step: Step | None = None
    ) -> Fit:
        """Fit groups.

        Args:
            groups: their names.
            start: a fit of some of them, or of more.
            token_ridge: penalty on the biases of tokens; that of the start when None.
            step: is taken from there.
        """
        ridge = start.columns.token_ridge if token_ridge is None else token_ridge
        columns = single_columns(self.split.fitted, groups, ridge)
        coefficients = columns.extended(start.coefficients, start.columns)
        if step is not None:
            coefficients += columns.extended(step.coefficients, step.columns)
        coefficients = fit(columns, self._fitted, coefficients, tolerance=_ROUGHLY)
        loss = self._loss(single_columns(self.split.held_out, groups), coefficients)
        return Fit(groups, columns, coefficients, loss)

    def without_superfluous(self, best: Fit) -> Fit:
        """Drop the groups without which less than a point is lost, those first without which least is lost."""
        while len(best.groups) > 1:
            fewer = [self.fit(_without(best.groups, group), best) for group in self._least_missed(best)]
            least = min(fewer, key=lambda each: each.loss)
            if least.loss >= best.loss + self.least:
                break
            best = least
        return best

    def _least_missed(self, best: Fit) -> list[str]:
        """Return the groups without which least is lost, to second order, while the others make up for it."""
        columns, rows = best.columns, self._fitted.n_rows
        p = Prediction(columns.logits(best.coefficients), self._fitted, columns.design).p
        inverse = np.linalg.inv(curvature(columns, p, rows, RIDGE + columns.ridge / rows))
        losses = {}
        for group, part in columns.slices.items():
            of_group = best.coefficients[part]
            losses[group] = float(of_group @ np.linalg.solve(inverse[part, part], of_group))
        return sorted(losses, key=lambda group: losses[group])[:_REFITTED]

    def exchanged(self, best: Fit, rivals: dict[str, list[str]]) -> tuple[Fit, tuple[tuple[str, ...], ...]]:
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

    def _loss(self, columns: Columns, coefficients: Floats) -> float:
        return Prediction(columns.logits(coefficients), self._held_out, columns.design).loss


def _without(groups: tuple[str, ...], group: str) -> tuple[str, ...]:
    return tuple(each for each in groups if each != group)
