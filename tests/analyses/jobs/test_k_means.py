"""k-means of many heads at once, against scikit-learn from the same starts."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from headscope.analyses.jobs.clustering.k_means import k_means, lloyd, nearest_of

RNG = np.random.default_rng(8)
ROWS = (700, 150, 40)


@pytest.fixture(scope="module")
def heads():
    """Three heads of different numbers of rows, padded with rows that count for nothing."""
    points, weights = np.zeros((3, max(ROWS), 4)), np.zeros((3, max(ROWS)))
    for head, rows in enumerate(ROWS):
        # Four clouds that touch one another, and rows that count more than once.
        middles = 3.0 * np.eye(4)[RNG.integers(0, 4, rows)]
        points[head, :rows] = middles + RNG.normal(size=(rows, 4))
        weights[head, :rows] = RNG.integers(1, 4, rows)
    return points, weights


@pytest.mark.parametrize("number", [2, 3, 6])
def test_every_start_ends_where_scikit_learns_does(heads, number):
    points, weights = heads
    starts = np.stack(
        [[points[head, RNG.choice(rows, number, replace=False)] for _ in range(5)] for head, rows in enumerate(ROWS)]
    )
    before = points.copy(), weights.copy(), starts.copy()
    centers, inertia = lloyd(points, weights, starts)
    labels, _ = nearest_of(points, centers)
    for head, rows in enumerate(ROWS):
        for start in range(5):
            fitted = KMeans(number, init=starts[head, start], n_init=1, tol=0, max_iter=1000)
            fitted.fit(points[head, :rows], sample_weight=weights[head, :rows])
            np.testing.assert_allclose(centers[head, start], fitted.cluster_centers_, atol=1e-9)
            assert inertia[head, start] == pytest.approx(fitted.inertia_, rel=1e-9)
            np.testing.assert_array_equal(labels[head, start, :rows], fitted.labels_)
    for given, kept in zip((points, weights, starts), before, strict=True):
        np.testing.assert_array_equal(given, kept)


def test_a_head_has_the_clusters_that_it_has_alone(heads):
    points, weights = heads
    together = k_means(points, weights, 3, seed=1)
    for head, rows in enumerate(ROWS):
        alone = k_means(points[[head], :rows], weights[[head], :rows], 3, seed=1)
        np.testing.assert_allclose(together[head], alone[0], atol=1e-9)


def test_clusters_that_lie_apart_are_those_of_scikit_learn():
    truth = RNG.integers(0, 4, 2000)
    points = (6.0 * np.eye(4)[truth] + RNG.normal(size=(2000, 4)))[None]
    centers = k_means(points, np.ones((1, 2000)), 4, seed=0)
    labels = nearest_of(points, centers[:, None])[0][0, 0]
    fitted = KMeans(4, n_init=10, random_state=0).fit(points[0])
    assert adjusted_rand_score(labels, fitted.labels_) > 0.99


def test_a_center_without_rows_stays():
    points = np.array([[[0.0], [1.0]]])
    starts = np.array([[[[0.5], [9.0]]]])
    centers, inertia = lloyd(points, np.ones((1, 2)), starts)
    assert centers.ravel().tolist() == [0.5, 9.0]
    assert inertia.ravel().tolist() == [0.5]
