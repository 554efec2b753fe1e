"""The bootstrap against scipy's, and against what an interval promises."""

import numpy as np
import pytest
from scipy.stats import bootstrap

from headscope.statistics.confidence import bootstrap_difference, bootstrap_ratio, resampling_weights
from headscope.statistics.groups import GroupedSums, group_of


def test_coverage_of_a_known_mean():
    """Documents of unequal size with a random effect each: 95% intervals cover the true mean in 92 to 97% of runs."""
    rng = np.random.default_rng(0)
    runs, documents, columns, truth = 25, 80, 40, 0.3
    covered = []
    for run in range(runs):
        counts = rng.integers(1, 9, size=documents).astype(float)
        level = truth + 0.1 * rng.normal(size=(documents, columns))
        sums = level * counts[:, None] + 0.2 * np.sqrt(counts)[:, None] * rng.normal(
            size=(documents, columns)
        )
        interval = bootstrap_ratio(sums, counts[:, None], resamples=600, seed=run)
        covered.append((interval.low < truth) & (truth < interval.high))
    assert 0.92 <= np.mean(covered) <= 0.97


def test_against_scipy():
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 6, size=40).astype(float)
    sums = counts * rng.gamma(2.0, size=40)
    ours = bootstrap_ratio(sums[:, None], counts[:, None], resamples=20_000, seed=3)
    theirs = bootstrap(
        (sums, counts),
        lambda s, c, axis=-1: s.sum(axis) / c.sum(axis),
        paired=True,
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert ours.value[0] == pytest.approx(sums.sum() / counts.sum())
    width = theirs.high - theirs.low
    assert ours.low[0] == pytest.approx(theirs.low, abs=0.03 * width)
    assert ours.high[0] == pytest.approx(theirs.high, abs=0.03 * width)


def test_fewer_than_ten_documents_have_no_interval():
    interval = bootstrap_ratio(np.ones((9, 2)), np.ones((9, 1)))
    assert interval.value.tolist() == [1, 1]
    assert np.isnan(interval.low).all()
    assert np.isnan(interval.high).all()
    assert not np.isnan(bootstrap_ratio(np.ones((10, 2)), np.ones((10, 1))).low).any()


def test_documents_without_such_rows_drop_out_of_resamples():
    counts = np.zeros((40, 1))
    counts[3:14] = 2
    interval = bootstrap_ratio(counts * 0.25, counts)
    assert interval.value[0] == interval.low[0] == interval.high[0] == 0.25


def test_ten_documents_must_have_such_rows():
    counts = np.zeros((40, 2))
    counts[:9, 0] = counts[:10, 1] = 1
    interval = bootstrap_ratio(counts * 0.25, counts)
    assert interval.value.tolist() == [0.25, 0.25]
    assert np.isnan(interval.low).tolist() == [True, False]


def test_resamples_are_seeded_multinomials():
    weights = resampling_weights(30, resamples=50, seed=1)
    assert weights.shape == (50, 30)
    assert (weights.sum(1) == 30).all()
    np.testing.assert_array_equal(weights, resampling_weights(30, resamples=50, seed=1))
    assert not np.array_equal(weights, resampling_weights(30, resamples=50, seed=2))


def test_a_difference_against_scipy():
    rng = np.random.default_rng(2)
    counts = rng.integers(1, 6, size=(2, 40)).astype(float)
    sums = counts * rng.gamma(2.0, size=(2, 40))
    ours = bootstrap_difference(
        sums[0][:, None], counts[0][:, None], sums[1][:, None], counts[1][:, None], resamples=20_000, seed=3
    )
    theirs = bootstrap(
        (sums[0], counts[0], sums[1], counts[1]),
        lambda a, m, b, n, axis=-1: a.sum(axis) / m.sum(axis) - b.sum(axis) / n.sum(axis),
        paired=True,  # the same documents on both sides
        n_resamples=20_000,
        method="percentile",
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert ours.value[0] == pytest.approx(sums[0].sum() / counts[0].sum() - sums[1].sum() / counts[1].sum())
    width = theirs.high - theirs.low
    assert ours.low[0] == pytest.approx(theirs.low, abs=0.03 * width)
    assert ours.high[0] == pytest.approx(theirs.high, abs=0.03 * width)


def test_a_difference_within_documents_is_surer_than_two_intervals():
    """Documents differ much, the two kinds in a document hardly: resampling both together sees it."""
    rng = np.random.default_rng(4)
    counts = np.full((60, 1), 5.0)
    level = rng.uniform(0, 1, size=(60, 1))
    left, right = counts * (level + 0.02), counts * level
    both = bootstrap_difference(left, counts, right, counts)
    assert both.value[0] == pytest.approx(0.02)
    assert 0.019 < both.low[0] <= both.high[0] < 0.021
    assert bootstrap_ratio(left, counts).low[0] < bootstrap_ratio(right, counts).high[0]


def test_coverage_of_a_known_difference():
    rng = np.random.default_rng(6)
    covered = []
    for run in range(20):
        counts = rng.integers(1, 6, size=(2, 70, 1)).astype(float)
        shared = 0.2 * rng.normal(size=(70, 30))
        left, right = (
            counts[side] * (truth + shared + 0.2 * rng.normal(size=(70, 30)))
            for side, truth in enumerate((0.5, 0.4))
        )
        ends = bootstrap_difference(
            left, np.broadcast_to(counts[0], left.shape), right, np.broadcast_to(counts[1], right.shape),
            resamples=500, seed=run,
        )  # fmt: skip
        covered.append((ends.low < 0.1) & (ends.high > 0.1))
    assert 0.92 <= np.mean(covered) <= 0.97


def test_a_difference_needs_ten_documents_that_have_both_and_drops_resamples_without():
    counts = np.ones((40, 4))
    counts[:, 1] = 0
    left, right = counts.copy(), counts.copy()
    right[:31, 2] = 0  # nine documents have both
    left[:25, 3] = right[15:, 3] = 0  # none has both
    ends = bootstrap_difference(0.75 * left, left, 0.5 * right, right)
    np.testing.assert_allclose(ends.value, [0.25, np.nan, 0.25, 0.25])
    np.testing.assert_allclose(ends.low, [0.25, np.nan, np.nan, np.nan])
    np.testing.assert_allclose(ends.high, [0.25, np.nan, np.nan, np.nan])
    few = np.ones((60, 1))
    few[11:] = 0
    ends = bootstrap_difference(0.5 * few, few, few, few, resamples=4000)
    assert (ends.value[0], ends.low[0], ends.high[0]) == (-0.5, -0.5, -0.5)


def test_groups_are_exact_per_document_up_to_their_number():
    sums = GroupedSums({"x": (2,), "n_x": ()}, groups=4)
    for document in ("a", "b", "a", "c", "d"):
        sums.add(document, x=np.array([1.0, 2.0]), n_x=np.array(1.0))
    assert not sums.folded
    assert sums.stacked()["n_x"].tolist() == [2, 1, 1, 1]
    sums.add("e", x=np.array([1.0, 2.0]), n_x=np.array(1.0))
    assert sums.folded
    assert len(sums) == len({group_of(d, 4) for d in "abcde"})
    assert sums.stacked()["x"].sum(0).tolist() == [6, 12]
    again = GroupedSums.from_state(sums.state())
    np.testing.assert_array_equal(again.stacked()["x"], sums.stacked()["x"])
    assert again.state()["n_x"].dtype == np.int32
