import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.views.markup import json_script, json_text


@given(st.recursive(st.text() | st.integers() | st.booleans() | st.none(), st.lists, max_leaves=8))
def test_json_comes_back_and_cannot_leave_its_element(value):
    written = json_text(value)
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == value


def test_lone_surrogates_can_be_written_as_utf8():
    assert json.loads(json_text(["\ud800"]).encode("utf-8")) == ["\ud800"]


def test_script_element():
    markup = json_script("data", {"a": "</script><!--"})
    assert markup == '<script type="application/json" id="data">{"a":"\\u003c/script\\u003e\\u003c!--"}</script>'


def test_nan_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text(float("nan"))
