"""The share that one effect is of another: by hand, by the bootstrap, and how often its interval holds the truth."""

import numpy as np
import pytest
from scipy import stats

from headscope.statistics.inference.confidence import FEWEST_DOCUMENTS
from headscope.statistics.inference.derived import effect_ratio_interval


def effects(generator, share, *, documents, runs, noise, whole=0.1):
    """Sums of two effects over documents of 1 to 8 inputs: `whole` on average, and a share of it, with common noise."""
    counts = generator.integers(1, 9, size=(documents, 1))
    of_document = generator.normal(whole, noise, size=(documents, runs))
    wholes = counts * of_document + np.sqrt(counts) * generator.normal(0, noise, size=(documents, runs))
    parts = share * wholes + np.sqrt(counts) * generator.normal(0, noise / 2, size=(documents, runs))
    return parts, wholes, counts


@pytest.mark.parametrize("share", [0.0, 0.4, 0.95, 1.0])
@pytest.mark.parametrize(("documents", "noise"), [(12, 0.05), (40, 0.1), (96, 0.2)])
def test_the_interval_holds_the_true_share_as_often_as_it_says(share, documents, noise):
    generator = np.random.default_rng(int(1000 * share) + documents)
    parts, wholes, counts = effects(generator, share, documents=documents, runs=4000, noise=noise)
    interval = effect_ratio_interval(parts, wholes, counts)
    known = np.isfinite(interval.value)
    assert known.mean() > 0.9
    holds = (interval.low <= share) & (share <= interval.high)
    assert 0.93 <= holds[known].mean() <= 0.97
    assert (interval.low[known] <= interval.value[known]).all()
    assert (interval.value[known] <= interval.high[known]).all()


def test_documents_of_one_size_by_fiellers_formula():
    """The two ends solve (part - r whole)^2 = t^2 var(part - r whole) / n."""
    generator = np.random.default_rng(5)
    parts, wholes, _ = effects(generator, 0.7, documents=30, runs=1, noise=0.1)
    interval = effect_ratio_interval(parts[:, 0], wholes[:, 0], np.ones(30))
    assert interval.value == pytest.approx(parts.mean() / wholes.mean())
    t = stats.t.ppf(0.975, 29)
    for end in (interval.low, interval.high):
        left = parts[:, 0] - end * wholes[:, 0]
        assert abs(left.mean()) == pytest.approx(t * left.std(ddof=1) / np.sqrt(30), rel=1e-6)


def test_the_bootstrap_of_documents_says_the_same():
    generator = np.random.default_rng(6)
    parts, wholes, counts = effects(generator, 0.7, documents=200, runs=1, noise=0.1)
    interval = effect_ratio_interval(parts, wholes, counts)
    drawn = generator.integers(0, 200, size=(4000, 200))
    shares = parts[drawn, 0].sum(1) / wholes[drawn, 0].sum(1)
    low, high = np.quantile(shares, [0.025, 0.975])
    assert interval.low[0] == pytest.approx(low, abs=0.1 * (high - low))
    assert interval.high[0] == pytest.approx(high, abs=0.1 * (high - low))


def test_nothing_is_said_where_the_whole_may_be_nothing():
    generator = np.random.default_rng(7)
    parts, wholes, counts = effects(generator, 0.5, documents=40, runs=3, noise=0.05)
    wholes[:, 0] -= wholes[:, 0].sum() * counts[:, 0] / counts.sum()
    wholes[:, 1] *= -1
    interval = effect_ratio_interval(parts, wholes, counts)
    for values in (interval.value, interval.low, interval.high):
        assert np.isnan(values).tolist() == [True, True, False]
    few = effect_ratio_interval(*(each[: FEWEST_DOCUMENTS - 1] for each in (parts, wholes, counts)))
    assert np.isnan(few.value).all()


def test_what_keeps_all_of_the_effect_keeps_it_in_every_document():
    wholes = np.random.default_rng(8).uniform(0.1, 1, size=(20, 2))
    interval = effect_ratio_interval(wholes * [1, 0], wholes, np.ones((20, 1)))
    for values in (interval.value, interval.low, interval.high):
        np.testing.assert_allclose(values, [1, 0], atol=1e-9)
