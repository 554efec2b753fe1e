"""Fits of given groups: positions alone, and groups that explain heads in other rows than those that selected them."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.columns import Columns
from headscope.analyses.explanation.design import Floats
from headscope.analyses.explanation.feature import SINK_LOGIT
from headscope.analyses.explanation.features.position import OFFSETS
from headscope.analyses.explanation.halves import Half, LayerHalves
from headscope.analyses.explanation.held_out import HeadFits
from headscope.analyses.explanation.logit import Target, fit
from headscope.analyses.explanation.sample_design import TOKEN_RIDGES, SampleDesign

_TOLERANCE = 1e-4
"""Of the gradient: what is predicted of whole inputs changes by less than its error."""
Groups = Callable[[int, int, int], Iterable[str]]
"""From the half of the documents that fits, the layer and the head, all from 0, to the groups."""


def fit_positions(half: Half, attention: NDArray[np.float32]) -> list[dict[str, Floats]]:
    """Return the coefficients of positions that predict each head's attention best in a half, by group.

    Args:
        half: of the documents.
        attention: of a layer's heads, `[head, cell]`.
    """
    # A learned sink is no token: it has no place, and no other feature says how much of a row it takes.
    columns = _columns(half, (*OFFSETS, SINK_LOGIT))
    return [_fit(columns, each[half.fitted_cells]) for each in attention]


def refit(sample: SampleDesign, layers: int, groups: Groups) -> list[list[HeadFits]]:
    """Fit groups to the heads of all layers by weight, and positions alone.

    Args:
        sample: the rows.
        layers: number of layers.
        groups: of each head; those that the rows do not have are left out.
    """
    results = [[HeadFits() for _ in sample.attention(0, layer)] for layer in range(layers)]
    for parity in (0, 1):
        halves = LayerHalves(sample, parity)
        for layer, heads in enumerate(results):
            attention, half = sample.attention(0, layer), halves.of(sample.visible_in(layer, 0))
            for number, (each, head, positions) in enumerate(
                zip(attention, heads, fit_positions(half, attention), strict=True)
            ):
                columns = _columns(half, groups(parity, layer, number))
                head.explained.append(_fit(columns, each[half.fitted_cells]))
                head.positions.append(positions)
    return results


def _columns(half: Half, groups: Iterable[str]) -> Columns:
    present = [group for group in groups if group in half.fitted.blocks]
    return Columns(half.fitted, present, TOKEN_RIDGES[-2], np.float32)


def _fit(columns: Columns, attention: NDArray[np.float32]) -> dict[str, Floats]:
    coefficients = fit(columns, Target.of(attention, columns.design), tolerance=_TOLERANCE)
    return {group: coefficients[part] for group, part in columns.slices.items()}
