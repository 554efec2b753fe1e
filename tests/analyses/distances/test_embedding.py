"""The map: exact where the plane can hold the distances, its stress as defined, the same picture every time."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.manifold import MDS

from headscope.analyses.distances.clusters import embed, stress_of


def apart(points):
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


def test_points_of_a_plane_come_out_as_they_are():
    points = np.random.default_rng(0).normal(size=(12, 2))
    found, stress = embed(apart(points))
    assert stress < 1e-4
    assert apart(found) == pytest.approx(apart(points), abs=1e-3)


def test_stress_by_hand():
    # Three heads on a line at 0, 1 and 3 for divergences 1, 2 and 2: errors 0, 1 and 0; distances 1, 3 and 2.
    places = np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]])
    divergence = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]])
    assert stress_of(places, divergence) == pytest.approx(np.sqrt(1 / 14))


def test_stress_is_scikit_learns_and_no_worse_than_its_own_starts():
    rng = np.random.default_rng(1)
    divergence = apart(rng.normal(size=(20, 6)))
    _, stress = embed(divergence, seed=3)
    for init, starts in (("classical_mds", 1), ("random", 4)):
        plain = MDS(
            metric="precomputed", init=init, n_init=starts, max_iter=500, random_state=3, normalized_stress=True
        )
        places = plain.fit_transform(divergence)
        assert stress_of(places, divergence) == pytest.approx(plain.stress_, rel=1e-3)
        assert stress <= stress_of(places, divergence) + 1e-6


def test_no_warning_and_the_same_picture_again():
    divergence = apart(np.random.default_rng(2).normal(size=(10, 4)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, again = embed(divergence, seed=5), embed(divergence, seed=5)
    assert np.array_equal(first[0], again[0])
    assert first[1] == again[1]


def test_centered_with_the_longer_axis_across():
    divergence = apart(np.random.default_rng(3).normal(size=(15, 2)) * [3.0, 1.0])
    x, y = embed(divergence)[0].T
    assert (x.mean(), y.mean()) == pytest.approx((0, 0), abs=1e-12)
    assert x.var() > y.var()
    assert x @ y == pytest.approx(0, abs=1e-9)
    assert (x**3).sum() >= 0
    assert (y**3).sum() >= 0


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.integers(4, 14))
def test_relabeling_heads_moves_their_points_along(seed, heads):
    rng = np.random.default_rng(seed)
    divergence = apart(rng.normal(size=(heads, 2)))
    order = rng.permutation(heads)
    plain, _ = embed(divergence, restarts=0)
    moved, _ = embed(divergence[np.ix_(order, order)], restarts=0)
    assert moved == pytest.approx(plain[order], abs=2e-3)


@pytest.mark.parametrize("heads", [0, 1, 2, 5])
def test_heads_that_are_all_the_same_are_one_point(heads):
    found, stress = embed(np.zeros((heads, heads)))
    assert not found.any()
    assert len(found) == heads
    assert stress == 0


def test_two_heads_are_as_far_apart_as_they_are():
    x, y = embed(np.array([[0.0, 0.4], [0.4, 0.0]]))[0].T
    assert np.ptp(x) == pytest.approx(0.4, abs=1e-4)
    assert np.ptp(y) == pytest.approx(0, abs=1e-9)
