"""Intervals over documents: scipy where documents are alike, formulae by hand where not, and their promises."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, t, ttest_1samp, ttest_rel

from headscope.statistics.inference.confidence import (
    difference_interval,
    mean_interval,
    ratio_interval,
    resampling_weights,
)
from headscope.statistics.inference.estimate import difference, ratio
from headscope.statistics.sums.groups import GroupedSums, group_of


def test_documents_of_one_size_are_students_t():
    rng = np.random.default_rng(0)
    sums = rng.normal(3, 2, size=(17, 4))
    ours = ratio_interval(5 * sums, np.full((17, 1), 5), scale="real")
    theirs = ttest_1samp(sums, 0).confidence_interval()
    np.testing.assert_allclose([ours.low, ours.high], [theirs.low, theirs.high], rtol=1e-12)
    estimate = ratio(5 * sums, np.full((17, 1), 5))
    np.testing.assert_allclose(estimate.freedom, 16)
    np.testing.assert_allclose(estimate.error, sums.std(0, ddof=1) / math.sqrt(17))


def test_a_difference_of_documents_of_one_size_is_the_paired_t():
    rng = np.random.default_rng(1)
    level = rng.normal(size=(23, 1))
    left, right = level + rng.normal(size=(23, 3)), level + rng.normal(size=(23, 3))
    ours = difference_interval(left, np.ones((23, 1)), right, np.ones((23, 1)))
    theirs = ttest_rel(left, right).confidence_interval()
    np.testing.assert_allclose([ours.low, ours.high], [theirs.low, theirs.high], rtol=1e-12)


def by_hand(sums, counts):
    """The error and its degrees of freedom, document by document, with numpy's own line where it has no bound."""
    own = [(s, n) for s, n in zip(sums.tolist(), counts.tolist()) if n]
    total = sum(n for _, n in own)
    value = sum(s for s, _ in own) / total
    squares = [(s - value * n) ** 2 / total**2 / (1 - n / total) for s, n in own]
    shares = [n / total for _, n in own]
    slope, height = np.polyfit(shares, [m / h for m, h in zip(squares, shares)], 1)
    variance = [height * h + slope * h * h for h in shares]
    bounded = slope > 0 and height > 0
    freedom = sum(variance) ** 2 / sum(v * v for v in variance) - 1
    return value, math.sqrt(sum(squares)), freedom if bounded else None


def test_documents_of_many_sizes_are_the_formula():
    rng = np.random.default_rng(2)
    met = 0
    for _ in range(40):
        counts = rng.integers(0, 30, size=25)
        level = rng.normal(0.5, 0.1, size=25)
        sums = counts * level + np.sqrt(counts) * rng.normal(0, 0.2, size=25)
        found = ratio(sums, counts)
        value, error, freedom = by_hand(sums, counts)
        assert found.value == pytest.approx(value, abs=1e-12)
        assert found.error == pytest.approx(error, rel=1e-10)
        assert found.documents == (counts > 0).sum()
        if freedom is not None:
            met += 1
            assert found.freedom == pytest.approx(max(1.0, freedom), rel=1e-6)
    assert met > 5


def test_noise_alone_has_kishs_and_what_is_the_documents_own_has_fewer_degrees():
    """Where residuals grow as the root of the size, (sum n)^2 / sum n^2 - 1; where as the size, of n^2."""
    counts = np.repeat([2.0, 4.0, 30.0], [20, 20, 2])
    sign = np.tile([1.0, -1.0], 21)
    noise = ratio(counts * 0.5 + sign * np.sqrt(counts), counts)
    own = ratio(counts * 0.5 + sign * counts, counts)
    assert noise.freedom == pytest.approx(counts.sum() ** 2 / (counts**2).sum() - 1, rel=0.2)
    assert own.freedom == pytest.approx((counts**2).sum() ** 2 / (counts**4).sum() - 1, rel=0.15)
    assert own.freedom < 4 < 10 < noise.freedom


def test_a_share_is_wilsons_interval_with_students_t():
    right, asked = 140, 200
    sums = np.zeros(asked)
    sums[:right] = 1
    ours = ratio_interval(sums, np.ones(asked), scale="share")
    theirs = binomtest(right, asked).proportion_ci(method="wilson")
    assert ours.low == pytest.approx(theirs.low, abs=2e-3)
    assert ours.high == pytest.approx(theirs.high, abs=2e-3)
    # By hand: as many answers as vary as much (one less than were asked), and t in place of 1.96.
    k = t.ppf(0.975, asked - 1)
    pull = k * k / (asked - 1)
    middle = (0.7 + pull / 2) / (1 + pull)
    reach = k / (1 + pull) * math.sqrt(0.21 / (asked - 1) + pull / (4 * (asked - 1)))
    np.testing.assert_allclose([ours.low, ours.high], [middle - reach, middle + reach], rtol=1e-12)


def test_all_right_is_not_certain():
    """The demonstration printed 100.0 (100.0-100.0) at n = 100."""
    ours = ratio_interval(np.array([[10.0, 0.0]] * 10), np.full((10, 1), 10.0), scale="share")
    k = t.ppf(0.975, 9) ** 2
    np.testing.assert_allclose(ours.value, [1.0, 0.0])
    np.testing.assert_allclose(ours.low, [100 / (100 + k), 0.0], atol=1e-12)
    np.testing.assert_allclose(ours.high, [1.0, k / (100 + k)], atol=1e-12)
    # All right but for rounding is the same.
    thirds = ratio_interval(np.full(10, 3 * (10 / 3) * (1 - 1e-16)), np.full(10, 10.0), scale="share")
    assert thirds.low == pytest.approx(100 / (100 + k), abs=1e-9)


def test_two_that_agree_everywhere_are_not_certainly_the_same():
    hits = np.full(10, 9.0)
    found = difference_interval(hits, np.full(10, 10.0), hits, np.full(10, 10.0), answers=True)
    assert found.value == 0
    assert found.high == -found.low == pytest.approx(t.ppf(0.975, 9) / 100)
    # Weights that are the same in every document are the same.
    still = difference_interval(hits, np.full(10, 10.0), hits, np.full(10, 10.0))
    assert (still.low, still.high) == (0.0, 0.0)


def test_what_is_positive_stays_positive():
    rng = np.random.default_rng(3)
    sums = rng.lognormal(0, 2, size=(12, 50))
    found = ratio_interval(sums, np.ones((12, 1)), scale="positive")
    assert (found.low > 0).all()
    # Log-normal documents have a tail above alone.
    assert (found.high / found.value > found.value / found.low).all()
    nothing = ratio_interval(np.zeros((12, 1)), np.ones((12, 1)), scale="positive")
    assert (nothing.low[0], nothing.high[0]) == (0.0, 0.0)


def test_fewer_than_ten_documents_have_no_interval():
    for scale in ("share", "positive", "real"):
        interval = ratio_interval(np.full((9, 2), 0.5), np.ones((9, 1)), scale=scale)
        assert interval.value.tolist() == [0.5, 0.5]
        assert np.isnan([interval.low, interval.high]).all()
        assert np.isfinite(ratio_interval(np.full((10, 2), 0.5), np.ones((10, 1)), scale=scale).low).all()


def test_ten_documents_must_have_such_rows():
    counts = np.zeros((40, 2))
    counts[:9, 0] = counts[:10, 1] = 1
    interval = ratio_interval(counts * 0.25, counts, scale="share")
    assert interval.value.tolist() == [0.25, 0.25]
    assert np.isnan(interval.low).tolist() == [True, False]
    nothing = ratio_interval(np.zeros((12, 1)), np.zeros((12, 1)), scale="share")
    assert np.isnan([nothing.value, nothing.low, nothing.high]).all()


def test_a_difference_needs_ten_documents_that_have_both():
    counts = np.ones((40, 4))
    counts[:, 1] = 0
    left, right = counts.copy(), counts.copy()
    right[:31, 2] = 0  # nine documents have both
    left[:25, 3] = right[15:, 3] = 0  # none has both
    ends = difference_interval(0.75 * left, left, 0.5 * right, right)
    np.testing.assert_allclose(ends.value, [0.25, np.nan, 0.25, 0.25])
    np.testing.assert_allclose(ends.low, [0.25, np.nan, np.nan, np.nan])
    np.testing.assert_allclose(ends.high, [0.25, np.nan, np.nan, np.nan])


def test_a_difference_within_documents_is_surer_than_two_intervals():
    """Documents differ much, the two kinds in a document hardly: what they share cancels."""
    rng = np.random.default_rng(4)
    counts = rng.integers(3, 9, size=(60, 1)).astype(float)
    level = rng.uniform(0, 1, size=(60, 1))
    left, right = counts * (level + 0.02), counts * level
    both = difference_interval(left, counts, right, counts)
    assert both.value[0] == pytest.approx(0.02)
    assert 0.019 < both.low[0] <= both.high[0] < 0.021
    apart = [ratio_interval(side, counts, scale="real") for side in (left, right)]
    assert apart[0].low[0] < apart[1].high[0]
    # With counts of its own each side keeps its own sizes: the error is that of the difference of influences.
    other = rng.integers(1, 5, size=(60, 1)).astype(float)
    found = difference(left, counts, level * other, other)
    influences = [
        (s - s.sum() / n.sum() * n) / n.sum() / np.sqrt(1 - n / n.sum())
        for s, n in ((left, counts), (level * other, other))
    ]
    assert found.error[0] == pytest.approx(np.sqrt(((influences[0] - influences[1]) ** 2).sum()), rel=1e-10)


def test_a_mean_over_lengths_counts_each_length_once():
    rng = np.random.default_rng(5)
    counts = rng.integers(0, 6, size=(40, 5)).astype(float)
    counts[:, 3] = 0  # no such length
    sums = counts * rng.normal(0.6, 0.1, size=(40, 5))
    found = mean_interval(sums, counts)
    there = [0, 1, 2, 4]
    assert found.value == pytest.approx((sums[:, there].sum(0) / counts[:, there].sum(0)).mean())
    # The delete-one jackknife, another way to the same error.
    left_out = np.array(
        [(np.delete(sums, g, 0)[:, there].sum(0) / np.delete(counts, g, 0)[:, there].sum(0)).mean() for g in range(40)]
    )
    error = np.sqrt(39 / 40 * ((left_out - left_out.mean()) ** 2).sum())
    assert (found.high - found.low) / 2 == pytest.approx(t.ppf(0.975, 35) * error, rel=0.06)
    assert np.isnan(mean_interval(sums[:9], counts[:9]).low)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=10, max_size=40),
    st.sampled_from(["share", "positive"]),
)
def test_laws_of_an_interval(rows, scale):
    """It holds its value and stays where values can be; order and splitting of columns change nothing."""
    asked = np.array([max(pair) for pair in rows], dtype=float)
    right = np.array([min(pair) for pair in rows], dtype=float)
    found = ratio_interval(right, asked, scale=scale)
    if np.isfinite(found.low):
        assert 0 <= found.low <= found.value <= found.high
        assert found.high <= 1 or scale == "positive"
        if scale == "share":
            assert found.high - found.low > 0 or len(set((right / np.maximum(asked, 1))[asked > 0])) == 1
    order = np.random.default_rng(0).permutation(len(rows))
    again = ratio_interval(right[order], asked[order], scale=scale)
    np.testing.assert_allclose([again.low, again.high], [found.low, found.high], rtol=1e-9)


def test_columns_in_several_parts_are_the_same(monkeypatch):
    rng = np.random.default_rng(6)
    counts = rng.integers(0, 9, size=(30, 7))
    hits = rng.binomial(counts[:, None], 0.4, size=(30, 5, 7))
    whole = ratio_interval(hits, counts[:, None], scale="share")
    monkeypatch.setattr("headscope.statistics.inference.estimate._NUMBERS_AT_ONCE", 100)
    parts = ratio_interval(hits, counts[:, None], scale="share")
    for name in ("value", "low", "high"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    one = ratio_interval(hits[:, 3, 2], counts[:, 2], scale="share")
    np.testing.assert_allclose([one.low, one.high], [whole.low[3, 2], whole.high[3, 2]], rtol=1e-9)


def test_resamples_are_seeded_multinomials():
    weights = resampling_weights(30, resamples=50, seed=1)
    assert weights.shape == (50, 30)
    assert (weights.sum(1) == 30).all()
    np.testing.assert_array_equal(weights, resampling_weights(30, resamples=50, seed=1))
    assert not np.array_equal(weights, resampling_weights(30, resamples=50, seed=2))


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
