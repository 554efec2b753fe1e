"""Deciles by interpolation: worked by hand, against numpy's quantiles, and how often their intervals hold."""

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headscope.analyses.distribution.compute import decile_interval
from headscope.analyses.distribution.sums import DECILES, BinnedValues
from headscope.analyses.distribution.tables import BINS, MEASURES

SHARES = np.array(DECILES) / 10


def counted(measure, values):
    """Rows in each bin, by numpy's own histogram; what lies beyond the last edge is in the last bin."""
    edges = measure.edges.copy()
    edges[-1] = np.inf
    return np.histogram(values, edges)[0]


def binned(measure, values):
    """Values as they are kept: how many in each bin, and its smallest and largest."""
    places = np.searchsorted(measure.edges[1:-1], values, side="right")
    least, most = np.full(len(measure.edges) - 1, np.inf), np.full(len(measure.edges) - 1, -np.inf)
    np.minimum.at(least, places, values)
    np.maximum.at(most, places, values)
    return BinnedValues(counted(measure, values), least, most)


def deciles_of(measure, documents):
    """Deciles of one head with intervals, from the values of each document."""
    whole = binned(measure, np.concatenate(documents))
    counts = np.stack([counted(measure, each) for each in documents]).astype(np.int32)
    return decile_interval(counts, whole, documents=len(documents))


def test_bins_worked_by_hand():
    share = MEASURES["non_sink"]
    middle = np.searchsorted(share.edges, 0.5) - 1
    assert share.edges[middle] < 0.496 < 0.5 < 0.504 < share.edges[middle + 1]
    values = torch.tensor([0.0, 3e-6, 5e-6, 0.5, 0.999998, 1.0, -1e-9], dtype=torch.float64)
    last = len(share.edges) - 2
    assert share.bins(values).tolist() == [0, 0, 1, middle, last, last, 0]
    distance = MEASURES["distance"]
    values = torch.tensor([0.0, 0.06, 2**-4, 0.99999, 1.0, 1.00001, 1e9], dtype=torch.float64)
    one = np.searchsorted(distance.edges, 1.0) - 1
    assert distance.bins(values).tolist() == [0, 0, 1, one, one, one, len(distance.edges) - 2]
    # As near as float32 comes to an edge is the edge.
    written = MEASURES["output_norm"]
    assert written.bins(torch.tensor([2**-10 * (1 - 1e-7)], dtype=torch.float64)).tolist() == [1]


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
def test_bins_fit_into_what_is_counted(measure):
    assert len(measure.edges) - 1 <= BINS
    assert measure.edges[0] == 0
    assert (np.diff(measure.edges) > 0).all()


@pytest.mark.parametrize("name", MEASURES)
def test_bins_are_those_between_the_edges(name):
    measure, rng = MEASURES[name], np.random.default_rng(1)
    values = np.concatenate([rng.uniform(0, 1, 500), np.exp(rng.normal(0, 4, 500)), measure.edges * 1.0001])
    places = measure.bins(torch.from_numpy(values)).numpy()
    np.testing.assert_array_equal(np.bincount(places, minlength=len(measure.edges) - 1), counted(measure, values))


def test_quantiles_worked_by_hand():
    # 0.2 and 0.8; nothing; 2, 2.5 (which is not kept) and 4.
    values = BinnedValues(np.array([2, 0, 3]), np.array([0.2, np.inf, 2.0]), np.array([0.8, -np.inf, 4.0]))
    found = values.quantiles(np.array([0.0, 0.125, 0.25, 0.5, 0.75, 1.0]))
    np.testing.assert_allclose(found, [0.2, 0.5, 0.8, 2.0, 3.0, 4.0])
    assert [each.tolist() for each in values.bins(np.array([0.2, 0.3, 0.5]))] == [[0, 0, 2], [0, 2, 2]]
    none = BinnedValues(np.zeros(3, dtype=int), np.full(3, np.inf), np.full(3, -np.inf))
    assert np.isnan(none.quantiles(np.array([0.5]))).all()


PILES = {
    "entropy": (0.0001, 0.7, 0.00003),
    "non_sink": (0.0, 1.0, 0.5),
    "distance": (0.0, 1.0, 2.0, 3.0, 5.0),
    "output_norm": (0.0, 0.31),
}


@settings(max_examples=80)
@given(data=st.data(), seed=st.integers(0, 10_000), name=st.sampled_from(sorted(PILES)))
def test_the_exact_decile_lies_in_its_interval_and_a_pile_is_exact(data, seed, name):
    """Most rows at one value, the others about it: the whole of a bin is in the interval."""
    measure, rng = MEASURES[name], np.random.default_rng(seed)
    pile = data.draw(st.sampled_from(PILES[name]))
    documents = []
    for _ in range(12):
        rows = int(rng.integers(5, 60))
        near = np.abs(pile + rng.normal(0, data.draw(st.sampled_from([1e-5, 0.01, 0.3])), rows))
        values = np.where(rng.uniform(size=rows) < 0.7, pile, near)
        documents.append(np.minimum(values, 1.0) if name == "non_sink" else values)
    found = deciles_of(measure, documents)
    exact = np.quantile(np.concatenate(documents), SHARES)
    assert (found.low <= exact * (1 + 1e-9) + 1e-12).all()
    assert (exact <= found.high * (1 + 1e-9) + 1e-12).all()
    assert (found.low <= found.value).all()
    assert (found.value <= found.high).all()
    same = deciles_of(measure, [np.full(9, pile)] * 12)
    assert same.value.tolist() == same.low.tolist() == same.high.tolist() == [pile] * 9


@pytest.mark.parametrize(
    ("name", "pile", "off"),
    [("entropy", 0.0001, 2e-5), ("non_sink", 1.0, 4e-6), ("non_sink", 0.0, 4e-6), ("distance", 1.0, 1e-4)],
)
def test_a_pile_is_told_from_what_lies_near_it(name, pile, off):
    """Bins are narrow where rows pile up: the decile is that of the pile, not of the middle of a wide bin."""
    rng = np.random.default_rng(3)
    around = np.abs(pile + np.concatenate([rng.uniform(-0.09, 0.09, 300), rng.normal(0, off / 4, 700)]))
    values = np.minimum(around, 1.0) if name == "non_sink" else around
    found = binned(MEASURES[name], values).quantiles(np.array([0.5]))
    assert abs(found[0] - np.quantile(values, 0.5)) < off


def test_few_values_have_numpy_s_quantiles():
    """Where each bin holds two values or fewer, all of them are known."""
    values = np.array([0.3, 1.7, 2.9, 9.0, 40.0, 41.0, 90.0])
    found = binned(MEASURES["distance"], values).quantiles(SHARES)
    np.testing.assert_allclose(found, np.quantile(values, SHARES))


@settings(max_examples=60)
@given(seed=st.integers(0, 10_000), name=st.sampled_from(sorted(MEASURES)), rows=st.integers(1, 400))
@example(seed=3104, name="entropy", rows=1)  # 15.5, where the last edge is at 10.2
def test_deciles_lie_within_a_bin_of_numpy_s(seed, name, rows):
    measure, rng = MEASURES[name], np.random.default_rng(seed)
    values = rng.beta(0.5, 2.0, rows) if name == "non_sink" else np.exp(rng.normal(0, 1, rows))
    edges = np.append(measure.edges[:-1], np.inf)  # The last bin holds what lies beyond the last edge, too.
    deciles = binned(measure, values).quantiles(SHARES)
    assert (deciles <= values.max()).all()
    for value, decile in zip(deciles, DECILES, strict=True):
        ends = [np.quantile(values, decile / 10, method=way) for way in ("lower", "higher")]
        low, high = np.searchsorted(edges, ends, side="right")
        assert edges[low - 1] <= value <= edges[high]


def test_documents_that_say_the_same_leave_the_bin_in_doubt_and_few_have_no_interval():
    measure = MEASURES["entropy"]
    own = (np.arange(300) + 0.5) / 100 + 0.05
    same = deciles_of(measure, [own] * 12)
    np.testing.assert_allclose(same.value, np.quantile(own, SHARES), atol=0.01)
    # Bins are a tenth of a nat wide there, and hold ten values.
    np.testing.assert_allclose(same.high - same.low, 0.09, atol=0.011)
    few = deciles_of(measure, [own] * 9)
    np.testing.assert_allclose(few.value, same.value, atol=0.01)
    assert np.isnan(few.low).all()
    # Nine groups may be of more documents.
    counts = np.stack([counted(measure, own)] * 9)
    whole = binned(measure, np.concatenate([own] * 9))
    assert not np.isnan(decile_interval(counts, whole, documents=90).low).any()
    none = BinnedValues(np.zeros((1, 5)), np.full((1, 5), np.inf), np.full((1, 5), -np.inf))
    assert np.isnan(decile_interval(np.zeros((0, 1, 5), dtype=np.int32), none, documents=0).value).all()


@pytest.mark.slow
def test_intervals_hold_the_true_decile_as_often_as_they_say():
    """Documents of very different sizes, each with a level of its own."""
    measure, rng = MEASURES["output_norm"], np.random.default_rng(5)

    def documents(number):
        for _ in range(number):
            rows = 5 + int(rng.pareto(2.0) * 20)
            yield np.exp(rng.normal(0, 0.5) + rng.normal(0, 0.7, min(rows, 2000)))

    truth = np.quantile(np.concatenate(list(documents(40_000))), SHARES)
    inside = np.zeros(len(DECILES))
    runs = 300
    for _ in range(runs):
        found = deciles_of(measure, list(documents(40)))
        inside += (found.low <= truth) & (truth <= found.high)
    share = inside / runs
    assert (share > 0.9).all(), share
    assert share.mean() > 0.93
    assert share.mean() < 0.99
