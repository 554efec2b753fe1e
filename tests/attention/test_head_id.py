"""The name of a head: 1-based as the paper writes it, 0-based in arrays."""

import pytest

from headscope.attention.head_id import HeadId


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_a_head_is_found_in_arrays_by_its_name(kind):
    head = HeadId.at(kind, 7, 9)
    assert (head.kind, head.layer, head.head) == (kind, 8, 10)
    assert head.position == (7, 9)
    assert str(head) == ("cross 8-10" if kind == "cross" else "8-10")
    assert HeadId.parse(str(head), kind=kind) == head


def test_what_names_no_head_is_refused():
    for text in ("8", "0-1", "8-10-2", "left 8-10"):
        with pytest.raises(ValueError, match="is not a head; expected layer-head from 1"):
            HeadId.parse(text)
