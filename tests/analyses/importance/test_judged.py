"""The side of a class of token beside other tokens, for each verdict of the test."""

from headscope.analyses.importance.facts import LEAST_RATIO, Compared
from headscope.present.cells import NO_NUMBER


def test_a_verdict_names_the_side_and_small_ratios_are_even():
    small = 1 + (LEAST_RATIO - 1) / 2
    expected = {
        (2.0 * LEAST_RATIO, 1.0, "more"): "more",
        (1.0, 2.0 * LEAST_RATIO, "less"): "less",
        (2.0 * LEAST_RATIO, 1.0, "same"): "even",
        (2.0 * LEAST_RATIO, 1.0, "untested"): "more",
        (1.0, 2.0 * LEAST_RATIO, "untested"): "less",
        (small, 1.0, "more"): "even",
        (1.0, small, "less"): "even",
    }
    sides = {
        (value, other, verdict): Compared(value, other, NO_NUMBER).judged(verdict).side
        for value, other, verdict in expected
    }
    assert sides == expected
