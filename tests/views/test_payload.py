import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from headscope.views.payload import json_script, json_text, pack, unpack


@given(st.recursive(st.text() | st.integers() | st.booleans() | st.none(), st.lists, max_leaves=8))
def test_json_comes_back_and_cannot_leave_its_element(value):
    written = json_text(value)
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == value


def test_lone_surrogates_can_be_written_as_utf8():
    assert json.loads(json_text(["\ud800"]).encode("utf-8")) == ["\ud800"]


def test_script_element():
    markup = json_script("data", {"a": "</script><!--"})
    assert (
        markup == '<script type="application/json" id="data">{"a":"\\u003c/script\\u003e\\u003c!--"}</script>'
    )


def test_nan_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text(float("nan"))


@given(arrays(np.float64, (5, 7), elements=st.floats(0, 1)))
def test_packed_weights_are_within_half_a_level(weights):
    packed, largest = pack(weights)
    back = unpack(packed, largest, 7)
    top = weights.max(axis=1, keepdims=True)
    # In square roots a level is 1/255 of the row's largest; its rounding to four digits adds 5e-4 relative.
    assert np.abs(np.sqrt(back) - np.sqrt(weights)).max() <= (0.5 / 255 + 3e-4) * np.sqrt(top).max() + 1e-12


def test_one_byte_a_weight():
    import base64

    packed, largest = pack(np.eye(4))
    assert len(base64.b64decode(packed)) == 16
    assert largest == [1.0] * 4


def test_rows_of_zeros_stay_zero():
    packed, largest = pack(np.zeros((2, 3)))
    assert (unpack(packed, largest, 3) == 0).all()
