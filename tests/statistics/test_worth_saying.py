"""Which claims are worth a sentence: shown at a false discovery rate, and as large as the smallest size."""

import numpy as np
import pytest
from scipy import stats

from headscope.statistics.inference.confidence import ratio_interval
from headscope.statistics.inference.significance import apart, p_of_interval, shown

NAN = float("nan")


def test_a_p_is_that_of_students_t_of_the_fewest_documents():
    """Ten documents of one size: the interval is Student's t, and so is the p that is read off it."""
    rng = np.random.default_rng(0)
    for shift in (0.0, 0.5, 2.0):
        values = rng.normal(shift, 1.0, size=10)
        interval = ratio_interval(values, np.ones(10), scale="real")
        expected = stats.ttest_1samp(values, 0.0).pvalue
        found = p_of_interval(*(np.array([end]) for end in (interval.value, interval.low, interval.high)))
        assert found.item() == pytest.approx(expected, rel=0.15)  # intervals allow for a tail of documents, too


def test_a_p_is_below_5_percent_where_the_interval_leaves_out_0():
    cases = [(1.0, 0.01, 2.0), (1.0, -0.01, 2.0), (-1.0, -2.0, -0.01), (-1.0, -2.0, 0.01), (0.0, -1.0, 1.0)]
    for value, low, high in cases:
        (p,) = p_of_interval([value], [low], [high])
        assert (p < 0.05) == (low > 0 or high < 0), (value, low, high)
    assert p_of_interval([1.0, 0.0], [1.0, 0.0], [1.0, 0.0]).tolist() == [0.0, 1.0]
    assert np.isnan(p_of_interval([1.0, NAN], [NAN, NAN], [NAN, NAN])).all()


def test_a_claim_needs_to_be_shown_and_large_enough():
    value, low, high = [0.5, 0.5, 0.005, -0.5, 0.5], [0.4, -0.1, 0.004, -0.6, NAN], [0.6, 1.1, 0.006, -0.4, NAN]
    assert shown(value, low, high, least=0.01).tolist() == [True, False, False, True, False]
    assert shown(value, low, high).tolist() == [True, False, True, True, False]
    assert shown([], [], []).tolist() == []


def test_one_of_many_needs_more_than_its_interval():
    one = ([0.11], [0.01], [0.21])
    assert shown(*one).tolist() == [True]
    many = (ends + [0.0] * 5 for ends in one)
    value, low, high = many
    assert not shown(value, [*low[:1], *[-0.1] * 5], [*high[:1], *[0.1] * 5]).any()


def test_claims_of_nothing_are_seldom_made():
    """Of 2,000 families of 12 numbers that are 0, over 10 documents, any is claimed in about 5%."""
    rng = np.random.default_rng(1)
    families = 0
    for _ in range(2000):
        interval = ratio_interval(rng.normal(size=(10, 12)), np.ones((10, 1)), scale="real")
        families += bool(shown(interval.value, interval.low, interval.high).any())
    assert families / 2000 < 0.06


def test_two_numbers_are_apart_where_their_intervals_do_not_overlap():
    assert apart(1.0, 0.8, 0.5, 0.7, least=0.1)
    assert not apart(1.0, 0.6, 0.5, 0.7, least=0.1)
    assert not apart(1.0, 0.8, 0.95, 0.7, least=0.1)
    assert not apart(1.0, NAN, 0.5, 0.7, least=0.1)
