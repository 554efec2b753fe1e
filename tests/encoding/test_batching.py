"""Segments of several lengths in one batch: positions of tokens and padding."""

import itertools
import threading
import time

import numpy as np
import pytest

from headscope.encoding.batching import ahead, collate
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


def threads():
    return [one for one in threading.enumerate() if one.name.startswith("headscope-ahead")]


@pytest.mark.parametrize("most", [1, 2, 100])
@pytest.mark.parametrize("number", [0, 1, 7])
def test_they_come_in_their_order(number, most):
    assert list(ahead(iter(range(number)), most=most)) == list(range(number))
    assert not threads()


def test_the_next_is_made_while_one_is_worked_on():
    made = []

    def items():
        for number in range(20):
            made.append(number)
            yield number

    stream = ahead(items(), most=2)
    assert next(stream) == 0
    for _ in range(200):
        if len(made) == 3:  # one given, two waiting
            break
        time.sleep(0.01)
    time.sleep(0.05)
    assert made == [0, 1, 2]
    assert list(stream) == list(range(1, 20))


def test_an_error_comes_where_its_item_would():
    def items():
        yield 1
        yield 2
        raise ValueError("the third")

    stream = ahead(items())
    assert [next(stream), next(stream)] == [1, 2]
    with pytest.raises(ValueError, match=r"^the third$"):
        next(stream)
    assert not threads()


def test_who_stops_early_leaves_no_thread():
    stream = ahead(itertools.count(), most=3)
    assert list(itertools.islice(stream, 5)) == [0, 1, 2, 3, 4]
    stream.close()
    assert not threads()
