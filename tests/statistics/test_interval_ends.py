"""Ends of intervals worked document by document, beside Wilson's and Edgeworth's own results."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, norm, t

from headscope.statistics.inference.confidence import _reaches, positive_ends, ratio_interval, share_ends
from headscope.statistics.inference.estimate import Estimate, difference, mean_of_ratios, ratio

Z = norm.ppf(0.975)


def influences_of(sums, counts):
    """Return the influence of each document on the ratio, corrected for its leverage."""
    total = sum(counts)
    value = sum(sums) / total
    return value, [(s - value * n) / total / math.sqrt(1 - n / total) for s, n in zip(sums, counts)]


def reach_by_hand(sums, counts, freedom, *, bend, unseen):
    value, influences = influences_of(sums, counts)
    error = math.sqrt(sum(m * m for m in influences))
    skew = sum(m**3 for m in influences) / error**3
    student = t.ppf(0.975, freedom)
    tail = skew * (1 + unseen(value, error) / math.sqrt(freedom)) * (2 * Z * Z + 1) / (6 * Z)
    shift = tail - Z * bend(value, error)
    down = student * (1 + min(-shift, -2 * tail)) if skew < 0 and shift < 0 else student
    up = student * (1 + min(shift, 2 * tail)) if skew > 0 and shift > 0 else student
    return value, error, skew, down, up


def drawn(seed, *, documents=40):
    rng = np.random.default_rng(seed)
    counts = np.rint(rng.lognormal(2.3, 1, documents) + 1)
    return rng, counts


@pytest.mark.parametrize("seed", range(6))
def test_a_positive_value_reaches_up_as_far_as_its_documents_tail(seed):
    rng, counts = drawn(seed)
    sums = counts * rng.lognormal(0.3 * np.log(counts), 0.7)
    estimate = ratio(sums[:, None], counts[:, None])
    value, error, skew, down, up = reach_by_hand(
        sums, counts, float(estimate.freedom[0]), bend=lambda v, e: e / v / 2, unseen=lambda v, e: 9
    )
    assert estimate.skew == pytest.approx(skew, rel=1e-9)
    found = ratio_interval(sums, counts, scale="positive")
    assert found.low == pytest.approx(value * math.exp(-down * error / value), rel=1e-9)
    assert found.high == pytest.approx(value * math.exp(up * error / value), rel=1e-9)
    student = math.exp(t.ppf(0.975, estimate.freedom[0]) * error / value)
    assert found.high > value * student * 1.02
    assert found.low == pytest.approx(value / student, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("mirrored", [False, True])
def test_a_share_reaches_toward_the_documents_that_few_have(seed, mirrored):
    rng, counts = drawn(seed)
    counts = 30 * counts
    sums = 0.6 * rng.binomial(counts.astype(int), 1 / (1 + np.exp(3 - rng.normal(0, 1, len(counts)))))
    sums = counts - sums if mirrored else sums
    freedom = float(ratio(sums[:, None], counts[:, None]).freedom[0])

    def unseen(share, error):
        answers = share * (1 - share) / error**2
        return 9 * (1 - min(answers / counts.sum(), counts.sum() / answers) ** 2)

    share, error, _, down, up = reach_by_hand(
        sums, counts, freedom, bend=lambda p, e: (1 - 2 * p) * e / (2 * p * (1 - p)), unseen=unseen
    )
    ends = []
    for times in (-down, up):  # the roots of Wilson's equation: |share - end| is so many errors at the end
        answers = share * (1 - share) / error**2
        a, b, c = 1 + times**2 / answers, -(2 * share + times**2 / answers), share**2
        ends.append((-b + math.copysign(math.sqrt(b * b - 4 * a * c), times)) / (2 * a))
    found = ratio_interval(sums, counts, scale="share")
    np.testing.assert_allclose([found.low, found.high], ends, rtol=1e-9)


@pytest.mark.parametrize("right", [60, 300, 1500, 2940])
def test_single_answers_have_wilsons_interval_and_no_tail(right):
    asked = 3000
    sums = np.repeat([1.0, 0.0], [right, asked - right])
    ours = ratio_interval(sums, np.ones(asked), scale="share")
    theirs = binomtest(right, asked).proportion_ci(method="wilson")
    width = theirs.high - theirs.low
    assert ours.low == pytest.approx(theirs.low, abs=2e-3 * width)
    assert ours.high == pytest.approx(theirs.high, abs=2e-3 * width)


def test_the_shift_is_that_of_students_t_over_skewed_documents():
    """Where the lower 2.5% of Student's t lie over 1,000 exponential values, simulated without the library."""
    rng = np.random.default_rng(0)
    number = 1000
    parts = []
    for _ in range(25):
        values = rng.exponential(size=(number, 2500))
        parts.append((values.mean(0) - 1) / (values.std(0, ddof=1) / math.sqrt(number)))
    simulated = -np.quantile(np.concatenate(parts), 0.025)
    skew = 2 / math.sqrt(number)  # an exponential value's is 2
    one = np.ones(1)
    estimate = Estimate(one, one, (number - 1) * one, np.array([number]), skew * one)
    down, up = _reaches(estimate, 0.95, bend=0 * one, unseen=0 * one)
    assert up == pytest.approx(simulated, abs=0.03)
    assert down == pytest.approx(t.ppf(0.975, number - 1)) != pytest.approx(simulated, abs=0.06)


def test_an_estimate_without_skewness_has_students_ends():
    one = np.ones(1)
    estimate = Estimate(2 * one, 0.4 * one, 12 * one, np.array([13]))
    low, high = positive_ends(estimate, confidence=0.95)
    np.testing.assert_allclose([2 / low, high / 2], math.exp(0.2 * t.ppf(0.975, 12)))


@pytest.mark.parametrize("share", [0.02, 0.5, 0.9])
def test_ends_do_not_jump_where_skewness_has_its_zero(share):
    one = np.ones(1)
    ends = [
        share_ends(Estimate(share * one, 0.01 * one, 12 * one, np.array([13]), skew * one), 500 * one, confidence=0.95)
        for skew in (-1e-9, 0.0, 1e-9)
    ]
    np.testing.assert_allclose(ends[::2], [ends[1]] * 2, rtol=1e-7)


def test_skewness_of_differences_and_of_means_of_ratios():
    rng, counts = drawn(7)
    left, right = counts * rng.lognormal(0, 1, len(counts)), counts * rng.lognormal(0, 0.5, len(counts))
    own, other = (np.array(influences_of(side, counts)[1]) for side in (left, right))
    for found, influences in (
        (difference(left[:, None], counts[:, None], right[:, None], counts[:, None]), own - other),
        (mean_of_ratios(np.stack([left, right], 1), np.stack([counts, counts], 1)), (own + other) / 2),
    ):
        assert found.skew[0] == pytest.approx((influences**3).sum() / (influences**2).sum() ** 1.5, rel=1e-9)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=10, max_size=40))
def test_wrong_answers_have_the_mirrored_interval(rows):
    asked = np.array([max(pair) for pair in rows], dtype=float)
    right = np.array([min(pair) for pair in rows], dtype=float)
    found = ratio_interval(right, asked, scale="share")
    mirrored = ratio_interval(asked - right, asked, scale="share")
    np.testing.assert_allclose([1 - mirrored.high, 1 - mirrored.low], [found.low, found.high], rtol=1e-7, atol=1e-9)
