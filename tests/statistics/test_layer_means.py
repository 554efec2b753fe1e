"""Each layer's mean stands behind its heads, group by group."""

import numpy as np
import pytest

from headscope.statistics.sums.groups import with_layer_means


@pytest.mark.parametrize("further", [(), (3,), (2, 4)])
def test_the_mean_of_each_layer_stands_behind_its_heads(further):
    sums = np.random.default_rng(0).random((2, 3, 4, *further))
    found = with_layer_means(sums)
    assert found.shape == (2, 3, 5, *further)
    np.testing.assert_array_equal(found[:, :, :4], sums)
    for group in range(2):
        for layer in range(3):
            mean = sum(sums[group, layer, head] for head in range(4)) / 4
            np.testing.assert_allclose(found[group, layer, 4], mean, rtol=1e-14)


def test_counts_become_shares_of_heads():
    counts = np.array([[[1, 0], [1, 1]]], dtype=np.int32)[:, :, :, None]
    np.testing.assert_array_equal(with_layer_means(counts)[0, :, 2, 0], [0.5, 1.0])
