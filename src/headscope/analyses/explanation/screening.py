"""What each group of features promises to add to an explanation, by a step of Newton's on few rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.columns import Columns
from headscope.analyses.explanation.design import Design, Floats, Integers
from headscope.analyses.explanation.feature import TOKENS
from headscope.analyses.explanation.logit import RIDGE, Prediction, Target, curvature

_SCREENED = 6
"""Number of groups whose step is followed, of those that promise most."""
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
class Fit:
    """Groups with their coefficients, and the cross entropy of the held-out documents."""

    groups: tuple[str, ...]
    columns: Columns
    coefficients: Floats
    loss: float

    @property
    def width(self) -> int:
        """The number of coefficients."""
        return len(self.coefficients)


@dataclass(frozen=True, eq=False)
class Step:
    """A step from a fit to one with another group.

    Attributes:
        group: that is added.
        columns: of which some coefficients change.
        coefficients: what is added to them.
        gain: nats per row.
    """

    group: str
    columns: Columns
    coefficients: Floats
    gain: float


def single_columns(design: Design, groups: Iterable[str], token_ridge: float | None = None) -> Columns:
    """Return columns in single precision, which is enough to select."""
    return Columns(design, tuple(groups), token_ridge, np.float32)


class Screen:
    """The groups that may be added to a fit, and what each promises.

    Args:
        split: the documents.

    Attributes:
        plain: names of the groups that are no products of others, without the biases of tokens.
        last: names of the groups that are.
        with_tokens: whether tokens have biases.
    """

    def __init__(self, split: Split) -> None:
        self._design, self._last = split.screened, split.last
        blocks = split.screened.blocks
        dense = [name for name, block in blocks.items() if block.codes is None]
        self.plain = tuple(name for name in dense if name not in split.last)
        self.last = tuple(sorted(split.last & set(blocks)))
        self.with_tokens = TOKENS in blocks
        self._plain, self._joint = (single_columns(split.screened, names) for names in (self.plain, dense))
        self._coded = {
            name: single_columns(split.screened, [name]) for name, block in blocks.items() if block.codes is not None
        }

    def steps(self, best: Fit, target: Target, candidates: Iterable[str]) -> list[Step]:
        """Return a step of Newton's for each group, of the best length, those that gain most first.

        Groups to which a step of full length promises little are left out.

        Args:
            best: the present fit.
            target: the attention of the rows that groups are screened on.
            candidates: the groups.
        """
        design, chosen = self._design, best.groups
        candidates = [group for group in candidates if group not in chosen]
        if not candidates:
            return []
        rows = target.n_rows
        at = Prediction(single_columns(design, chosen).logits(best.coefficients), target, design)
        used = self._joint if any(group in self._last for group in candidates) else self._plain
        gradient = used.sums(at.error) / rows
        second = curvature(used, at.p, rows, RIDGE + used.ridge / rows)
        directions: dict[str, tuple[Columns, Floats, float]] = {}
        for group in candidates:
            if group in used.slices:
                parts = [used.slices[name] for name in (*chosen, group) if name in used.slices]
                index = np.concatenate([np.arange(part.start, part.stop) for part in parts])
                direction = np.zeros(len(gradient))
                direction[index] = np.linalg.solve(second[np.ix_(index, index)], gradient[index])
                directions[group] = used, direction, float(gradient @ direction)
            else:
                columns = self._coded[group]
                diagonal = columns.sums(at.p * (1 - at.p)) / rows + RIDGE + columns.ridge / rows
                of_group = columns.sums(at.error) / rows
                directions[group] = columns, of_group / diagonal, float(of_group**2 @ (1 / diagonal))
        steps = []
        for group in sorted(directions, key=lambda group: -directions[group][2])[:_SCREENED]:
            columns, direction, _ = directions[group]
            gain, times = _best_along(at, columns.logits(direction), target, design)
            steps.append(Step(group, columns, times * direction, gain / rows))
        return sorted(steps, key=lambda step: -step.gain)


def _best_along(
    at: Prediction, along: NDArray[np.floating[Any]], target: Target, design: Design
) -> tuple[float, float]:
    """Return the most that adding a multiple of some logits gains, and the multiple, by Newton's method."""
    linear = float(target.attention @ along)
    least, best = at.loss, 0.0
    # The curvature at 0 misleads where keys are rare: the step is at most one that adds a few nats to any key.
    times = min(1.0, 3.0 / max(1e-12, float(np.abs(along).max())))
    for _ in range(_STEPS_ALONG):
        ahead = at.moved(along * along.dtype.type(times))
        if ahead.loss < least:
            least, best = ahead.loss, times
        weighted = ahead.p * along
        means = design.row_sums(weighted)
        bend = float(weighted @ along) - float(means @ means)
        if bend <= 0:
            break
        times = min(max(times + (linear - float(means.sum())) / bend, times / 4), times * 4)
    return at.loss - least, best
