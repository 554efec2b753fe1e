"""Spearman's rho: against scipy, and how often its interval holds the truth of normal pairs."""

import numpy as np
import pytest
from scipy import stats

from headscope.statistics.inference.derived import rank_correlation


def test_rho_is_scipys_with_ties():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 6, size=(2, 40))
    assert rank_correlation(x, y)[0] == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("number", [32, 144])
@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_the_interval_holds_the_truth_in_95_percent_of_runs(number, correlation):
    rng = np.random.default_rng(1)
    truth = 6 / np.pi * np.arcsin(correlation / 2)
    covered = 0
    for _ in range(1500):
        x, noise = rng.normal(size=(2, number))
        _, low, high = rank_correlation(x, correlation * x + np.sqrt(1 - correlation**2) * noise)
        covered += low <= truth <= high
    assert 0.93 <= covered / 1500 <= 0.97


def test_what_has_no_interval_or_no_rho():
    assert np.isnan(rank_correlation(np.ones(12), np.arange(12))).all()
    rho, low, high = rank_correlation(np.arange(9), np.arange(9) ** 2)
    assert rho == pytest.approx(1)
    assert np.isnan([low, high]).all()
    assert rank_correlation(np.arange(12), -np.arange(12)) == pytest.approx((-1, -1, -1))
