"""When a share is large: its whole interval is, and above what uniform attention gives."""

import math

import pytest

from headscope.report_kit.claim_rules import stands_out
from headscope.report_kit.tables.cells import Cell

NONE = math.nan


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
    assert stands_out(Cell(value, low, value + 0.1, uniform, 30)) is large
