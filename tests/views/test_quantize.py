"""One byte a weight: what a page reads is within a 255th of the row's largest weight, whatever the row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from headscope.views.quantize import decode, encode, largest_error, read_weights, row_maxima, write_weights
from support.views import hand_made, read_layer, rows

SHAPES = array_shapes(min_dims=2, max_dims=4, min_side=0, max_side=6)
ROWS = arrays(np.float32, SHAPES, elements=st.floats(0, 1, width=32))
# Rows as attention has them: one large weight beside very small ones.
STEEP = arrays(np.float32, SHAPES, elements=st.floats(-100, 0, width=32)).map(np.exp2)


@given(ROWS | STEEP)
def test_a_weight_is_off_by_a_255th_of_its_rows_maximum_at_most(weights):
    maxima = row_maxima(weights)
    back = decode(encode(weights, maxima), maxima)
    assert back.shape == weights.shape
    assert back.dtype == np.float32
    off = np.abs(back.astype(np.float64) - weights)
    assert (off <= maxima[..., None].astype(np.float64) / 255).all()


@given(ROWS)
def test_the_rows_maximum_and_its_zeros_come_back_exactly(weights):
    maxima = row_maxima(weights)
    back = decode(encode(weights, maxima), maxima)
    assert (back[weights == 0] == 0).all()
    assert (row_maxima(back) == maxima).all()


@given(arrays(np.float32, (5, 7), elements=st.floats(0, 1, width=32)))
def test_order_within_a_row_is_kept(weights):
    maxima = row_maxima(weights)
    codes = encode(weights, maxima).astype(int)
    order = np.argsort(weights, axis=1)
    assert (np.diff(np.take_along_axis(codes, order, axis=1), axis=1) >= 0).all()


def test_codes_by_hand():
    weights = np.array([[0.0, 0.25, 1.0], [0.5, 0.125, 0.0], [0.0, 0.0, 0.0]], dtype=np.float32)
    maxima = row_maxima(weights)
    assert maxima.tolist() == [1.0, 0.5, 0.0]
    # 255 sqrt(0.25) = 127.5, to the even neighbor; 255 sqrt(0.125 / 0.5) likewise.
    assert encode(weights, maxima).tolist() == [[0, 128, 255], [255, 128, 0], [0, 0, 0]]
    expected = [0, 0.25196464, 1]
    np.testing.assert_allclose(decode(encode(weights, maxima), maxima)[0], expected, atol=1e-7)
    assert largest_error(weights, write_weights(weights)) == pytest.approx(0.00196464, abs=1e-7)


def test_causal_rows_stay_causal():
    rng = np.random.default_rng(0)
    weights = np.tril(rng.random((3, 8, 8), dtype=np.float32))
    maxima = row_maxima(weights)
    back = decode(encode(weights, maxima), maxima)
    assert (np.triu(back, 1) == 0).all()
    assert (back[:, np.arange(8), np.arange(8)] > 0).all()


@given(ROWS | STEEP)
def test_what_is_written_is_read(weights):
    maxima = row_maxima(weights)
    content = write_weights(weights)
    expected = decode(encode(weights, maxima), maxima)
    np.testing.assert_array_equal(read_weights(content, weights.shape), expected)
    assert largest_error(weights, content) == np.abs(expected - weights).max(initial=0.0)


def test_the_bytes_by_hand():
    content = write_weights(hand_made()[0])
    # 2 heads x 3 queries x 3 keys, two bytes to fill up, six maxima.
    assert len(content) == 18 + 2 + 6 * 4
    head_1, head_2 = [255, 0, 0, 255, 0, 0, 0, 255, 0], [147, 0, 255] * 3  # 255 sqrt(0.25 / 0.75) = 147.2
    assert list(content[:20]) == [*head_1, *head_2, 0, 0]
    assert np.frombuffer(content[20:], "<f4").tolist() == [1, 1, 1, 0.75, 0.75, 0.75]


@pytest.mark.parametrize("keys", [1, 2, 3, 4, 5])
def test_parts_begin_at_multiples_of_four(keys):
    weights = rows(np.random.default_rng(keys), 1, 3, keys)
    content = write_weights(weights)
    assert len(content) % 4 == 0
    np.testing.assert_allclose(read_layer(content, 1, 3, keys), weights, atol=1 / 255)


def test_bytes_of_another_shape_are_refused():
    content = write_weights(hand_made()[0])
    with pytest.raises(ValueError, match=r"^Expected 12 bytes for weights of the shape \(1, 2, 2\), got 44; give"):
        read_weights(content, (1, 2, 2))


def test_a_maximum_rounded_down_caps_its_row():
    weights = np.array([[0.123456, 0.01]])
    content = write_weights(weights, np.array([0.1234]))
    assert content[0] == 255
    assert largest_error(weights, content) < 1e-3 * 0.123456


def test_double_precision_is_taken_too():
    weights = np.random.default_rng(1).random((4, 9))
    assert largest_error(weights, write_weights(weights)) <= float(row_maxima(weights).max()) / 255
