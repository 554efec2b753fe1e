"""Rules for the numbers of tables: what stands out, what lies above or below a bar, what may be named as largest."""

import math

import pytest

from headscope.present.cells import Cell
from headscope.present.claim_rules import Comparison, above, below, leading, stand_out, turned, verdicts

NONE = math.nan


def cell(value, low=NONE, high=NONE, uniform=NONE):
    return Cell(value, low, high, uniform, 30)


@pytest.mark.parametrize(
    ("value", "low", "uniform", "large"),
    [
        (0.40, 0.30, 0.10, True),
        (0.40, 0.25, 0.10, False),  # the interval reaches a quarter
        (0.40, 0.30, 0.15, False),  # ... or twice what uniform attention gives
        (0.40, 0.31, 0.15, True),
        (0.40, NONE, NONE, True),  # without an interval the value itself is judged
        (0.20, NONE, NONE, False),
        (NONE, NONE, NONE, False),
    ],
)
def test_a_share_is_large_where_its_whole_interval_is(value, low, uniform, large):
    high = NONE if math.isnan(low) else value + 0.1
    assert stand_out([cell(value, low, high, uniform)]) == [large]


def test_of_many_shares_one_that_is_barely_past_the_threshold_does_not_stand_out():
    barely = cell(0.40, 0.26, 0.54, 0.1)
    assert stand_out([barely]) == [True]
    assert not any(stand_out([barely, *[cell(0.1, 0.05, 0.15, 0.1)] * 20]))


def test_above_and_below_a_bar():
    cells = [cell(0.6, 0.55, 0.65), cell(0.6, 0.45, 0.75), cell(0.4, 0.35, 0.45), cell(0.9)]
    assert above(cells, 0.5) == [True, False, False, False]
    assert below(cells, 0.5) == [False, False, True, False]
    assert above(cells, 0.5, least=0.2) == [False] * 4
    assert above(cells, [0.0, 0.0, 0.5, 0.0]) == [True, True, False, False]
    assert above([]) == []


def test_how_many_may_be_named_as_the_largest():
    cells = [cell(0.9, 0.8, 1.0), cell(0.7, 0.65, 0.75), cell(0.3, 0.2, 0.4), cell(0.29, 0.2, 0.4)]
    assert [leading(cells, least=0.0, most=most) for most in (1, 2, 3)] == [1, 2, 2]
    assert leading(cells, least=0.3, most=2) == 2
    assert leading(cells, least=0.3) == 0  # the second is not that much smaller
    assert leading(cells[2:], least=0.0) == 0
    assert leading([cell(0.9), cell(0.1)], least=0.0) == 0  # without intervals nothing is said of ranks
    assert leading([turned(each) for each in reversed(cells)], least=0.0, most=2) == 2


def test_a_difference_is_more_or_less_where_it_is_shown_and_as_large_as_a_point():
    gaps = [
        Comparison(0.034, 0.017, 0.052),
        Comparison(0.034, -0.01, 0.052),
        Comparison(-0.034, -0.052, -0.017),
        Comparison(0.00001, 0.000009, 0.000011),
        Comparison(0.034, NONE, NONE),
    ]
    assert verdicts(gaps, least=0.01) == ["more", "same", "less", "same", "untested"]
    assert gaps[3].at_most() == "no difference larger than 1.0 points"
