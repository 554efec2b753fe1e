"""Documents in halves: one selects and fits, the other measures, and they are exchanged."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.analyses.explanation.catalog import GROUPS
from headscope.analyses.explanation.design import Design, Integers
from headscope.analyses.explanation.sample_design import SampleDesign
from headscope.analyses.explanation.screening import Split

_SCREENED, _SELECTING, _HELD_OUT = 128, 256, 256
"""Number of rows at most that candidates are screened on, fitted on, and compared on; groups need fewer than shares."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Half:
    """What one half of the documents fits and the other measures.

    Attributes:
        split: the documents that select groups.
        fitted, measured: designs of the rows of each half.
        fitted_cells, measured_cells: their cells among all.
        measured_rows: the rows of the half that measures, among all.
        token_ids: the tokens that have a bias.
    """

    split: Split
    fitted: Design
    measured: Design
    fitted_cells: Integers
    measured_cells: Integers
    measured_rows: Integers
    token_ids: Integers


def half_of(sample: SampleDesign, visible: NDArray[np.bool_] | None, parity: int) -> Half:
    """Return one of the two directions.

    Args:
        sample: the rows.
        visible: the cells that a layer sees; None for all.
        parity: of the documents that fit.
    """
    design, token_ids = sample.with_tokens(np.arange(len(sample.names)) % 2 == parity)
    kept = np.arange(design.n_cells)
    if visible is not None:
        design, kept = design.restricted(visible), np.flatnonzero(visible)
    of_row = sample.documents
    fits = of_row % 2 == parity
    compares = fits & (of_row // 2 % 3 == 2)
    rows = {
        "fitted": np.flatnonzero(fits),
        "measured": np.flatnonzero(~fits),
        "held_out": _at_most(np.flatnonzero(compares), _HELD_OUT),
        "selecting": _at_most(np.flatnonzero(fits & ~compares), _SELECTING),
    }
    rows["screened"] = _at_most(rows["selecting"], _SCREENED)
    parts = {name: design.only(of_part) for name, of_part in rows.items()}
    split = Split(
        fitted=parts["selecting"][0],
        screened=parts["screened"][0],
        held_out=parts["held_out"][0],
        fitted_cells=kept[parts["selecting"][1]],
        screened_cells=kept[parts["screened"][1]],
        held_out_cells=kept[parts["held_out"][1]],
        last=frozenset(name for name, group in GROUPS.items() if group.of_others),
    )
    return Half(
        split=split,
        fitted=parts["fitted"][0],
        measured=parts["measured"][0],
        fitted_cells=kept[parts["fitted"][1]],
        measured_cells=kept[parts["measured"][1]],
        measured_rows=rows["measured"],
        token_ids=token_ids,
    )


class LayerHalves:
    """One direction, for the cells that layers see: few kinds of layers differ in them, and it is made once for each.

    Args:
        sample: the rows.
        parity: of the documents that fit.
    """

    def __init__(self, sample: SampleDesign, parity: int) -> None:
        self._sample, self._parity = sample, parity
        self._made: list[tuple[NDArray[np.bool_] | None, Half]] = []

    def of(self, visible: NDArray[np.bool_] | None) -> Half:
        """Return the direction for the cells that a layer sees; None for all."""
        for cells, half in self._made:
            if cells is visible or (cells is not None and visible is not None and (cells == visible).all()):
                return half
        half = half_of(self._sample, visible, self._parity)
        self._made.append((visible, half))
        return half


def _at_most(rows: Integers, number: int) -> Integers:
    """Return so many of the rows at most, spread evenly."""
    if len(rows) <= number:
        return rows
    return rows[np.arange(number) * len(rows) // number]
