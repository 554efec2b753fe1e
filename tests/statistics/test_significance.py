"""Tests by document: a formula worked by hand, uniform p under the null, and Benjamini and Hochberg's rule."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import kstest

from headscope.statistics.significance import clustered_p, false_discovery


def by_hand(differences, counts):
    """The formula, document by document."""
    own = [(d, n) for d, n in zip(differences, counts) if n]
    pooled = sum(d for d, _ in own) / sum(n for _, n in own)
    squares = sum((d - pooled * n) ** 2 for d, n in own)
    error = math.sqrt(len(own) / (len(own) - 1) * squares)
    return 1 - NormalDist().cdf(sum(d for d, _ in own) / error)


def test_a_case_worked_by_hand():
    # 12 documents of 2 questions and differences that sum to 6, so that D = 1/4 and each residual is d - 1/2:
    # squares of 0.25 for d = 0 and 1, 2.25 for 2 and -1, 6.25 for -2.
    differences = np.array([1, 1, 1, 1, 1, 0, 0, 0, 2, 2, -1, -2])
    counts = np.full(12, 2)
    squares = 5 * 0.25 + 3 * 0.25 + 2 * 2.25 + 2.25 + 6.25
    z = 6 / math.sqrt(12 / 11 * squares)
    expected = 1 - NormalDist().cdf(z)
    assert clustered_p(differences, counts) == pytest.approx(expected, abs=1e-12)
    assert by_hand(differences, counts) == pytest.approx(expected, abs=1e-12)
    # The other side.
    assert clustered_p(-differences, counts) == pytest.approx(1 - expected, abs=1e-12)


def test_many_at_once_with_documents_that_have_no_question():
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, size=(30, 3))
    differences = rng.integers(-1, 3, size=(30, 6, 3)) * (counts[:, None] > 0)
    p = clustered_p(differences, counts[:, None])
    assert p.shape == (6, 3)
    for head in range(6):
        for item in range(3):
            assert p[head, item] == pytest.approx(
                by_hand(differences[:, head, item], counts[:, item]), abs=1e-12
            )


def test_fewer_than_ten_documents_have_no_p():
    counts = np.zeros((20, 2))
    counts[:9, 0] = counts[:10, 1] = 3
    differences = counts * np.arange(20)[:, None] / 20
    assert np.isnan(clustered_p(differences, counts)).tolist() == [True, False]


def test_documents_that_all_say_the_same():
    counts = np.full((12, 3), 4)
    differences = np.tile([2, 0, -2], (12, 1))
    assert clustered_p(differences, counts).tolist() == [0.0, 0.5, 1.0]


def test_p_is_uniform_under_the_null():
    """Documents of unequal size with an effect of their own on the difference, whose mean is 0."""
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 12, size=(80, 3000))
    effect = rng.uniform(-0.3, 0.3, size=counts.shape)
    differences = rng.binomial(counts, 0.5 + effect) - rng.binomial(counts, 0.5)
    p = clustered_p(differences, counts)
    assert kstest(p, "uniform").pvalue > 0.01
    assert 0.035 < (p < 0.05).mean() < 0.065
    # Questions taken as independent would cry wolf.
    total, number = differences.sum(0), counts.sum(0)
    naive = total / np.sqrt(number * 0.5)
    assert (naive > 1.645).mean() > 0.065


def test_p_agrees_with_a_permutation_of_signs():
    rng = np.random.default_rng(2)
    counts = np.full(40, 5)
    differences = rng.integers(-3, 4, size=40) + (np.arange(40) % 4 == 0)
    signs = rng.choice([-1, 1], size=(20_000, 40))
    permuted = float((signs @ differences >= differences.sum()).mean())
    assert 0.02 < permuted < 0.4
    assert clustered_p(differences, counts) == pytest.approx(permuted, abs=0.03)


def test_benjamini_hochberg_by_hand():
    # Sorted: 0.01, 0.02, 0.03, 0.5 of 4; p m / rank: 0.04, 0.04, 0.04, 0.5; then the least from the right.
    p = np.array([[0.02, np.nan], [0.5, 0.01], [np.nan, 0.03]])
    q = false_discovery(p)
    np.testing.assert_allclose(q, [[0.04, np.nan], [0.5, 0.04], [np.nan, 0.04]])
    np.testing.assert_allclose(
        false_discovery(np.array([0.001, 0.04, 0.03, 1.0])), [0.004, 0.16 / 3, 0.16 / 3, 1.0]
    )
    assert np.isnan(false_discovery(np.array([np.nan, np.nan]))).all()
    assert false_discovery(np.array([])).shape == (0,)


def test_few_are_found_among_many_nulls():
    """At most 5% of what is found is false, on average."""
    rng = np.random.default_rng(3)
    z = rng.normal(size=(200, 400))
    z[:, :20] += 3.5
    p = np.array([1 - NormalDist().cdf(value) for value in z.reshape(-1)]).reshape(z.shape)
    shares = []
    for row in p:
        found = false_discovery(row) < 0.05
        shares.append(found[20:].sum() / max(1, found.sum()))
        assert found.sum() > 3
    assert np.mean(shares) < 0.06
