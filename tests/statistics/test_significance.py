"""Tests over documents: scipy's t where documents are alike, plain loops, and levels held in simulation."""

import numpy as np
import pytest
from scipy.stats import kstest, ttest_1samp
from scipy.stats import t as student_t

from headscope.statistics.inference.confidence import UNSEEN_TAIL, difference_interval, doubted, ratio_interval
from headscope.statistics.inference.estimate import difference, ratio
from headscope.statistics.inference.significance import (
    against_every,
    false_discovery,
    p_above,
    p_either_side,
    selection_p,
)


def test_documents_of_one_size_are_scipys_one_sided_t():
    rng = np.random.default_rng(0)
    sums = rng.normal(0.3, 1, size=(15, 6))
    found = p_above(ratio(sums, np.ones((15, 1))))
    np.testing.assert_allclose(found, ttest_1samp(sums, 0, alternative="greater").pvalue, rtol=1e-10)


def test_p_and_interval_say_the_same():
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 20, size=(30, 400))
    differences = rng.binomial(counts, 0.55) - rng.binomial(counts, 0.45)
    p = p_above(ratio(differences, counts))
    interval = ratio_interval(differences, counts, scale="real")
    np.testing.assert_array_equal(p < 0.025, interval.low > 0)
    assert 0.05 < (p < 0.025).mean() < 0.95


def test_fewer_than_ten_documents_have_no_p():
    counts = np.zeros((20, 2))
    counts[:9, 0] = counts[:10, 1] = 3
    differences = counts * np.arange(20)[:, None] / 20
    assert np.isnan(p_above(ratio(differences, counts))).tolist() == [True, False]
    hits = np.stack([differences, differences], axis=1)
    assert np.isnan(against_every(hits, 0 * hits, counts)[:, 0]).all()
    assert np.isnan(selection_p(hits, 0 * hits, counts)).tolist() == [True, False]


def test_documents_that_all_say_the_same_are_not_certain():
    counts = np.full((12, 3), 4)
    differences = np.tile([2, 0, -2], (12, 1))
    assert p_above(ratio(differences, counts)).tolist() == [0.0, 0.5, 1.0]
    doubtful = p_above(doubted(ratio(differences, counts), counts.sum(0)))
    assert 0 < doubtful[0] < 1e-6
    assert doubtful[1] == 0.5


def contest(groups=24, heads=6, items=3, rivals=4, *, seed=0, heads_at=0.5):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, size=(groups, items))
    hits = rng.binomial(counts[:, None], heads_at, size=(groups, heads, items))
    others = rng.binomial(counts[:, None], 0.4, size=(groups, rivals, items))
    return hits, others, counts


def test_against_every_is_the_largest_p_of_a_plain_loop():
    hits, rivals, counts = contest()
    found = against_every(hits, rivals, counts)
    for head in range(6):
        for item in range(3):
            every = []
            for rival in range(4):
                gap = difference(
                    hits[:, head, item, None], counts[:, [item]], rivals[:, rival, item, None], counts[:, [item]]
                )
                every.append(p_above(doubted(gap, counts[:, [item]].sum(0)))[0])
            assert found[head, item] == pytest.approx(max(every), rel=1e-9)


def test_selection_p_is_the_plain_loop():
    """Document by document: the head that is best on those before it, in every order anew."""
    hits, rivals, counts = contest(seed=2)
    found = selection_p(hits, rivals, counts, orders=5, seed=7)
    generator = np.random.default_rng([7, 2])
    orders = [generator.permutation(24).tolist() for _ in range(5)]
    for item in range(3):
        worst = []
        for order in orders:
            right, beside, asked = [], [[] for _ in range(4)], []
            for place in range(24 // 5, 24):
                before = order[:place]
                totals = [sum(hits[g, head, item] for g in before) for head in range(6)]
                head = totals.index(max(totals))
                document = order[place]
                right.append(hits[document, head, item])
                asked.append(counts[document, item])
                for rival in range(4):
                    beside[rival].append(rivals[document, rival, item])
            every = []
            for rival in range(4):
                gap = ratio((np.array(right) - np.array(beside[rival]))[:, None], np.array(asked)[:, None])
                gap = doubted(gap, np.array([sum(asked)]))
                from scipy.stats import t

                every.append(t.sf(gap.value[0] / gap.error[0], gap.freedom[0]))
            worst.append(max(every))
        assert found[item] == pytest.approx(min(1.0, 2 * np.median(worst)), rel=1e-9)


def test_a_head_is_never_judged_by_a_document_that_chose_it():
    """Each head is right in one document only: on the others none is, and nothing is found."""
    groups = 30
    counts = np.full((groups, 1), 10)
    hits = np.zeros((groups, groups, 1), dtype=int)
    hits[np.arange(groups), np.arange(groups)] = 10
    rivals = np.zeros((groups, 1, 1), dtype=int)
    assert selection_p(hits, rivals, counts)[0] == 1.0


def test_every_rival_must_be_beaten():
    """The third offset is as good as the heads: a split that took another for the best would be fooled."""
    hits, rivals, counts = contest(groups=80, heads_at=0.6, seed=3)
    assert (selection_p(hits, rivals, counts) < 5e-3).all()
    rivals[:, 2] = hits[:, 0]
    assert (selection_p(hits, rivals, counts) > 0.05).all()
    assert (against_every(hits, rivals, counts) > 0.01).all()


def test_p_is_uniform_under_the_null():
    """Documents of unequal size with an effect of their own on the difference, whose mean is 0."""
    rng = np.random.default_rng(1)
    counts = rng.integers(1, 12, size=(80, 3000))
    effect = rng.uniform(-0.3, 0.3, size=counts.shape)
    differences = rng.binomial(counts, 0.5 + effect) - rng.binomial(counts, 0.5)
    p = p_above(ratio(differences, counts))
    assert kstest(p, "uniform").pvalue > 0.01
    assert 0.035 < (p < 0.05).mean() < 0.065
    # Questions taken as independent would cry wolf.
    total, number = differences.sum(0), counts.sum(0)
    assert (total / np.sqrt(number * 0.5) > 1.645).mean() > 0.065


@pytest.mark.slow
def test_the_issues_own_simulation_declares_nothing():
    """10 documents of 10 questions, 144 heads as good as the offset at 20 relations: 87% of runs found something."""
    found = []
    for run in range(60):
        rng = np.random.default_rng(run)
        counts = np.full((10, 20), 10)
        hits = rng.binomial(10, 0.4, (10, 144, 20))
        rivals = rng.binomial(10, 0.4, (10, 1, 20))
        heads = false_discovery(against_every(hits, rivals, counts))
        selection = false_discovery(selection_p(hits, rivals, counts, seed=run))
        found.append([(heads < 0.05).any(), (selection < 0.05).any()])
    allowed = 0.05 + 2 * np.sqrt(0.05 * 0.95 / 60)
    assert (np.mean(found, axis=0) <= allowed).all()


def test_an_interval_of_a_difference_excludes_zero_where_the_test_does():
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 9, size=(25, 300))
    left, right = rng.binomial(counts, 0.98), rng.binomial(counts, 0.95)
    ends = difference_interval(left, counts, right, counts, answers=True)
    p = p_above(doubted(difference(left, counts, right, counts), counts.sum(0)))
    np.testing.assert_array_equal(p < 0.025, ends.low > 0)


def test_benjamini_hochberg_by_hand():
    # Sorted: 0.01, 0.02, 0.03, 0.5 of 4; p m / rank: 0.04, 0.04, 0.04, 0.5; then the least from the right.
    p = np.array([[0.02, np.nan], [0.5, 0.01], [np.nan, 0.03]])
    q = false_discovery(p)
    np.testing.assert_allclose(q, [[0.04, np.nan], [0.5, 0.04], [np.nan, 0.04]])
    np.testing.assert_allclose(false_discovery(np.array([0.001, 0.04, 0.03, 1.0])), [0.004, 0.16 / 3, 0.16 / 3, 1.0])
    assert np.isnan(false_discovery(np.array([np.nan, np.nan]))).all()
    assert false_discovery(np.array([])).shape == (0,)


def test_a_tail_on_the_far_side_takes_a_test_back_and_one_on_the_near_side_gives_nothing():
    tail = np.concatenate([np.full(38, -0.05), [-0.06, 1.0]])[:, None] + np.linspace(0, 0.02, 40)[:, None]
    counts = np.ones((40, 1))
    for values in (tail - 0.05, 0.05 - tail):  # below 0 with a tail above it, and its mirror
        student = ttest_1samp(values[:, 0], 0).pvalue
        assert p_either_side(ratio(values, counts))[0] > 10 * student
    near = tail + 0.2
    student = ttest_1samp(near[:, 0], 0).pvalue
    assert p_either_side(ratio(near, counts))[0] == pytest.approx(student, rel=1e-9)
    few = p_either_side(ratio(near[:9], counts[:9]))
    assert np.isnan(few).all()
    assert p_either_side(ratio(np.zeros((12, 2)), np.ones((12, 1)))).tolist() == [1, 1]
    assert p_either_side(ratio(np.ones((12, 1)), np.ones((12, 1)))).tolist() == [0]


def test_values_over_the_same_documents_against_a_loop():
    rng = np.random.default_rng(5)
    skewed = (rng.gamma(1.5, size=(40, 6)) - 1.5) * [1, -1, 1, 1, -1, 1] + np.linspace(-0.6, 0.9, 6)
    values = np.concatenate([skewed, rng.normal(0.5, 1.0, size=(40, 1)), np.full((40, 1), np.nan)], axis=1)
    counts = np.where(np.isnan(values), 0, 1)
    p = p_either_side(ratio(np.nan_to_num(values), counts))

    skew = np.empty(7)
    for at in range(7):
        deviations = values[:, at] - values[:, at].mean()
        skew[at] = (deviations**3).sum() / (deviations**2).sum() ** 1.5
    assert np.isnan(p[7])
    for at in range(7):
        t = ttest_1samp(values[:, at], 0).statistic
        others = [skew[other] ** 2 - 6 / 40**2 for other in range(7) if other != at]
        seen = -np.sign(t) * skew[at] * (1 + UNSEEN_TAIL / np.sqrt(39))
        g = max(seen, 0.5 * np.sqrt(max(np.mean(others), 0)))
        bent = abs(t) - g * t**2 / 3 + g**2 * abs(t) ** 3 / 27 - g / 6
        assert p[at] == pytest.approx(2 * student_t.sf(np.clip(bent, 0, abs(t)), 39), rel=1e-6)


def test_no_value_knows_its_error_better_than_the_median_value_does():
    # Documents of five values differ more than chance says, so that the large one counts for most; of one they do not.
    counts = np.array([20, 20] + [4] * 28)[:, None]
    signs = np.tile([1.0, -1.0], 15)[:, None]
    by_chance, more = 0.3 + signs / np.sqrt(counts), np.repeat(0.3 + signs, 4, axis=1)
    means = np.concatenate([by_chance, more], axis=1)
    estimate = ratio(means * counts, counts)
    assert estimate.freedom[0] > 1.5 * estimate.freedom[1:].max()
    t = estimate.value[0] / estimate.error[0]
    alone = p_either_side(ratio(by_chance * counts, counts))[0]
    assert alone < 2 * student_t.sf(abs(t), estimate.freedom[1]) <= p_either_side(estimate)[0]
