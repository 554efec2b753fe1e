"""Deciles by interpolation: worked by hand, against numpy's quantiles, and how often their intervals hold."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.analyses.distribution.deciles import DECILES, decile_interval, quantiles
from headscope.analyses.distribution.scales import BINS, MEASURES


def counted(measure, values):
    """Rows in each bin, by numpy's own histogram; what lies beyond the last edge is in the last bin."""
    edges = measure.edges.copy()
    edges[-1] = np.inf
    return np.histogram(values, edges)[0]


def test_bins_worked_by_hand():
    share = MEASURES["content"]
    values = torch.tensor([0.0, 0.0078, 0.0079, 0.5, 0.49999, 1.0, -1e-9], dtype=torch.float64)
    assert share.bins(values).tolist() == [0, 0, 1, 64, 63, 127, 0]
    # As near as float32 comes to a half is a half.
    assert share.bins(torch.tensor([0.49999997], dtype=torch.float64)).tolist() == [64]
    distance = MEASURES["distance"]
    values = torch.tensor([0.0, 0.06, 2**-4, 1.0, 2.0, 1e9], dtype=torch.float64)
    assert distance.bins(values).tolist() == [0, 0, 1, 25, 31, 127]
    assert distance.edges[[0, 1, 25, 31]].tolist() == [0.0, 2**-4, 1.0, 2.0]


@pytest.mark.parametrize("name", MEASURES)
def test_bins_are_those_between_the_edges(name):
    measure, rng = MEASURES[name], np.random.default_rng(1)
    values = np.concatenate([rng.uniform(0, 1, 500), np.exp(rng.normal(0, 4, 500)), measure.edges * 1.001])
    places = measure.bins(torch.from_numpy(values)).numpy()
    np.testing.assert_array_equal(np.bincount(places, minlength=BINS), counted(measure, values))


def test_quantiles_worked_by_hand():
    # 2 rows between 0 and 1, none between 1 and 2, 2 between 2 and 4.
    found = quantiles(
        np.array([2, 0, 2]), np.array([0.0, 1.0, 2.0, 4.0]), np.array([0.0, 0.25, 0.5, 0.75, 1.0])
    )
    assert found.tolist() == [0.0, 0.5, 1.0, 3.0, 4.0]
    assert np.isnan(quantiles(np.zeros(3, dtype=int), np.arange(4.0), np.array([0.5]))).all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10_000), name=st.sampled_from(sorted(MEASURES)), rows=st.integers(1, 400))
def test_deciles_lie_within_a_bin_of_numpy_s(seed, name, rows):
    measure, rng = MEASURES[name], np.random.default_rng(seed)
    values = rng.beta(0.5, 2.0, rows) if name == "content" else np.exp(rng.normal(0, 1, rows))
    found = quantiles(counted(measure, values), measure.edges, np.array(DECILES) / 10)
    for own, decile in zip(found, DECILES, strict=True):
        ends = [np.quantile(values, decile / 10, method=way) for way in ("lower", "higher")]
        places = np.searchsorted(measure.edges, ends, side="right")
        assert measure.edges[places[0] - 1] <= own <= measure.edges[min(places[1], BINS)]


def test_documents_that_say_the_same_leave_no_doubt_and_few_have_no_interval():
    measure = MEASURES["entropy"]
    own = counted(measure, (np.arange(300) + 0.5) / 100)
    same = decile_interval(np.stack([own] * 12)[:, None], measure.edges, documents=12)
    np.testing.assert_allclose(same.value[0], 0.3 * np.array(DECILES), atol=1e-12)
    np.testing.assert_allclose(same.low, same.value, atol=1e-12)
    np.testing.assert_allclose(same.high, same.value, atol=1e-12)
    few = decile_interval(np.stack([own] * 9)[:, None], measure.edges, documents=9)
    np.testing.assert_allclose(few.value, same.value)
    assert np.isnan(few.low).all()
    # Nine groups may be of more documents.
    assert not np.isnan(decile_interval(np.stack([own] * 9)[:, None], measure.edges, documents=90).low).any()
    none = decile_interval(np.zeros((0, 1, BINS), dtype=np.int32), measure.edges, documents=0)
    assert np.isnan(none.value).all()


@pytest.mark.slow
def test_intervals_hold_the_true_decile_as_often_as_they_say():
    """Documents of very different sizes, each with a level of its own."""
    measure, rng = MEASURES["written"], np.random.default_rng(5)

    def documents(number):
        for _ in range(number):
            rows = 5 + int(rng.pareto(2.0) * 20)
            yield np.exp(rng.normal(0, 0.5) + rng.normal(0, 0.7, min(rows, 2000)))

    truth = quantiles(
        counted(measure, np.concatenate(list(documents(40_000)))), measure.edges, np.array(DECILES) / 10
    )
    inside = np.zeros(len(DECILES))
    runs = 300
    for _ in range(runs):
        counts = np.stack([counted(measure, each) for each in documents(40)]).astype(np.int32)
        found = decile_interval(counts, measure.edges, documents=40)
        inside += (found.low <= truth) & (truth <= found.high)
    share = inside / runs
    assert (share > 0.9).all(), share
    assert share.mean() > 0.93
    assert share.mean() < 0.99
