"""Which heads attend to the sink: more than half of their attention, over all sink tokens together."""

import math

import pytest

from headscope.analyses.norms.activity import Activity
from headscope.report_kit.tables.cells import Cell


@pytest.mark.parametrize(("share", "attends"), [(0.0, False), (0.5, False), (0.51, True), (1.0, True)])
def test_a_head_attends_to_the_sink_above_half(share, attends):
    relative = Cell(1.0, 0.9, 1.1, math.nan, 30)
    assert Activity(2, 3, share, relative, None).attends_to_sink is attends
