"""Segments of several lengths in one batch: where their tokens stand, and where padding does."""

import numpy as np
import pytest

from headscope.encoding.batching import collate
from support.inputs import made_up_segments, vocabulary


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_stands_on_the_side_that_the_model_asks_for(side):
    segments = made_up_segments(6)
    info = collate(segments, vocabulary(), padding_side=side).info
    width = max(map(len, segments))
    assert len({len(segment) for segment in segments}) > 1
    for row, segment in enumerate(segments):
        tokens = slice(width - len(segment), width) if side == "left" else slice(0, len(segment))
        valid = np.zeros(width, dtype=bool)
        valid[tokens] = True
        np.testing.assert_array_equal(info.valid[row], valid)
        np.testing.assert_array_equal(info.ids[row, tokens], segment.ids)
        np.testing.assert_array_equal(info.word_ids[row, tokens], segment.word_ids)
