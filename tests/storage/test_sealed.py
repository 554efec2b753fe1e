"""Any change or damage to a file of facts is noticed."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.errors import InputError
from headscope.storage.sealed import read_sealed, seal_of, write_sealed

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5).filter(lambda name: name != "seal"), VALUES, max_size=4))
def test_the_seal_is_that_of_the_content_in_any_order_and_after_json(content):
    again = json.loads(json.dumps(content))
    assert seal_of(again) == seal_of(dict(reversed(content.items()))) == seal_of(content)


def test_every_changed_character_is_noticed(tmp_path):
    path = tmp_path / "facts.json"
    content = {"a": [1, 2.5, None], "b": {"c": "text"}}
    write_sealed(path, content)
    assert read_sealed(path, remedy="") == type(read_sealed(path, remedy=""))(content, whole=True)
    text = path.read_text()
    unnoticed = 0
    for place, character in enumerate(text):
        for other in {"0", "x"} - {character}:
            path.write_text(text[:place] + other + text[place + 1 :])
            with suppress(InputError):
                unnoticed += read_sealed(path, remedy="").whole
    assert unnoticed == 0


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"{", "is not JSON (Expecting property name"),
        (b"\xff", "is not JSON ('utf-8' codec can't decode"),
        (b"[" * 100_000, "is nested more than 50 deep; throw it away"),
        (b'{"a":' * 100_000, "is nested more than 50 deep; throw it away"),
    ],
)
def test_what_is_no_json(content, says, tmp_path):
    path = tmp_path / "facts.json"
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_sealed(path, remedy="throw it away")
    assert str(refused.value).startswith(f"{path} {says}")
    assert str(refused.value).endswith("; throw it away")


def test_what_is_no_file_or_far_too_large(tmp_path):
    assert read_sealed(tmp_path / "none.json", remedy="") is None
    assert read_sealed(tmp_path / "none" / "none.json", remedy="") is None
    with pytest.raises(InputError) as refused:
        read_sealed(tmp_path, remedy="throw it away")
    assert str(refused.value) == f"{tmp_path} is a folder; expected a regular file; throw it away"
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate(65 << 20)
    with pytest.raises(InputError) as refused:
        read_sealed(large, remedy="throw it away")
    assert str(refused.value) == f"{large} has 68,157,440 bytes; expected at most 67,108,864; throw it away"
