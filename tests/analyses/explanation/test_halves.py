"""Half of the documents select and fit, the other half measure, and the other way round."""

import numpy as np
import pytest

from headscope.analyses.explanation.halves import half_of
from support.planted_explanations import inputs, sample_of


@pytest.fixture(scope="module")
def sample():
    uniform = [np.full((len(each.rows), len(each.tokens)), 1 / len(each.tokens)) for each in inputs()]
    return sample_of([uniform])


@pytest.mark.parametrize("parity", [0, 1])
def test_documents_that_measure_neither_select_nor_fit(sample, parity):
    half = half_of(sample, None, parity)
    measuring = sample.documents[half.measured_rows] % 2
    assert len(measuring)
    assert set(measuring) == {1 - parity}
    fitted, measured = set(half.fitted_cells), set(half.measured_cells)
    assert not fitted & measured
    assert fitted | measured == set(range(sample.design.n_cells))
    split = half.split
    assert set(split.fitted_cells) | set(split.held_out_cells) <= fitted
    assert set(split.screened_cells) <= set(split.fitted_cells)
    assert not set(split.fitted_cells) & set(split.held_out_cells)
