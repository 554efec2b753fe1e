"""The divergence between heads of two models: heads in order and all pairs, against scipy and a plain loop."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from headscope.analyses.compare.divergence import in_order, of_all_pairs


def random_heads(heads, rows, keys, *, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.softmax(4 * torch.randn((heads, rows, keys), generator=generator).double(), dim=-1)


def plain(first, second):
    """The sum over rows for each pair of heads; scipy returns the root of the divergence."""
    keys = first.shape[-1]
    smooth = [(0.999 * each.double() + 0.001 / keys).numpy() for each in (first, second)]
    return np.array([[(jensenshannon(p, q, axis=1) ** 2).sum() for q in smooth[1]] for p in smooth[0]])


def test_both_are_scipys_divergence():
    first, second = random_heads(5, 7, 11, seed=1), random_heads(5, 7, 11, seed=2)
    expected = plain(first, second)
    np.testing.assert_allclose(in_order(first, second).numpy(), np.diag(expected), rtol=1e-9)
    np.testing.assert_allclose(of_all_pairs(first, second).numpy(), expected, atol=7e-6)


def test_models_of_different_size_are_compared_in_blocks(monkeypatch):
    first, second = random_heads(3, 4, 6, seed=3), random_heads(5, 4, 6, seed=4)
    expected = of_all_pairs(first, second)
    assert expected.shape == (3, 5)
    np.testing.assert_allclose(expected.numpy(), plain(first, second), atol=4e-6)
    monkeypatch.setattr("headscope.analyses.compare.divergence._NUMBERS_AT_ONCE", 1)
    torch.testing.assert_close(of_all_pairs(first, second), expected)


@pytest.mark.parametrize("compare", [in_order, lambda first, second: of_all_pairs(first, second).diag()])
def test_equal_heads_do_not_differ_and_disjoint_heads_differ_by_ln_2(compare):
    heads = random_heads(3, 5, 8, seed=5)
    assert float(compare(heads, heads.clone()).abs().max()) < 1e-6
    left, right = torch.eye(8)[None, :2], torch.eye(8)[None, 2:4]
    assert float(compare(left, right)) == pytest.approx(2 * np.log(2), rel=0.01)
