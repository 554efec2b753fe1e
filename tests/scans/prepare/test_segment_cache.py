"""Inputs for several models: made once, and anew where they are too many."""

import pytest

from headscope.scans.prepare.drawn_inputs import SegmentCache
from support.inputs import made_up_segments

SEGMENTS = made_up_segments(6, seed=1)
TOKENS = sum(map(len, SEGMENTS))


@pytest.mark.parametrize(("most", "made"), [(TOKENS, 1), (TOKENS - 1, 3)])
def test_they_are_made_once_where_they_are_few(most, made):
    asked = []

    def make():
        asked.append(1)
        return iter(SEGMENTS)

    held = SegmentCache(most=most)
    assert list(held.watch(make())) == SEGMENTS
    for _ in range(2):
        assert list(held.again(make)) == SEGMENTS
    assert len(asked) == made


def test_what_was_not_read_to_its_end_is_not_held():
    held = SegmentCache()
    assert next(held.watch(SEGMENTS)) is SEGMENTS[0]
    assert list(held.again(lambda: SEGMENTS)) == SEGMENTS
