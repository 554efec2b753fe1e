"""JSON one value at a time: the same values as from the standard library, wherever the chunks are cut."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.corpora import features
from headscope.corpora.features import line_values, list_values
from headscope.errors import InputError

strings = st.text(max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | strings
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4), max_leaves=12
)


def in_pieces(content: str, size: int) -> list[str]:
    return [content[at : at + size] for at in range(0, len(content), size)]


def message(values) -> str:
    with pytest.raises(InputError) as caught:
        list(values)
    return str(caught.value)


@settings(max_examples=150)
@given(
    items=st.lists(values, min_size=1, max_size=6),
    indent=st.sampled_from([None, 0, 3]),
    plain=st.booleans(),
    size=st.integers(1, 50),
)
def test_a_list_in_any_pieces_is_the_list(items, indent, plain, size):
    content = " \n" + json.dumps(items, indent=indent, ensure_ascii=plain) + "\n\t"
    read = list(list_values(in_pieces(content, size), name="x"))
    assert read == items
    assert [type(value) for value in read] == [type(value) for value in items]  # 1 is not 1.0 or true


@settings(max_examples=100)
@given(items=st.lists(values, min_size=1, max_size=4), size=st.integers(1, 20), data=st.data())
def test_a_list_that_breaks_off_is_refused_at_its_end_or_its_open_string(items, size, data):
    content = json.dumps(items, indent=1)
    content = content[: data.draw(st.integers(1, len(content) - 1))]
    with pytest.raises(json.JSONDecodeError):
        json.loads(content)
    said = message(list_values(in_pieces(content, size), name="x"))
    assert said == message(list_values([content], name="x"))  # chunks do not change the message
    assert said.startswith("x, entry ")
    assert ": malformed JSON at line " in said


@settings(max_examples=200)
@given(items=st.lists(values, min_size=1, max_size=3), size=st.integers(1, 20), data=st.data())
def test_the_standard_library_says_what_is_malformed(items, size, data):
    content = json.dumps(items)
    at = data.draw(st.integers(1, len(content)))
    end = at + data.draw(st.integers(0, 2))
    content = content[:at] + data.draw(st.text('[]{}",:\\u0a1.-e \n', max_size=2)) + content[end:]
    try:
        expected = json.loads(content)
    except ValueError:
        expected = None
    if expected and all(map(math.isfinite, numbers(expected))):
        assert list(list_values(in_pieces(content, size), name="x")) == expected
    else:
        assert message(list_values(in_pieces(content, size), name="x")).startswith("x")


def numbers(value):
    if isinstance(value, float):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from numbers(inner)


@pytest.mark.parametrize("number", ["-0.0", "1.5e+30", "12E-3", "100", "-7", "1e5"])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_numbers_cut_anywhere(number, size):
    assert list(list_values(in_pieces(f"[{number},{number}]", size), name="x")) == [float(number)] * 2


@settings(max_examples=60)
@given(items=st.lists(values, min_size=1, max_size=5))
def test_lines(items):
    content = "\n\n".join(json.dumps(item) for item in items)
    assert list(line_values(content.split("\n"), name="x")) == items


def test_values_come_before_the_rest_is_read():
    def endless():
        yield "["
        while True:
            yield '{"a": [1, 2]}, '

    items = list_values(endless(), name="x")
    assert [next(items) for _ in range(1000)] == [{"a": [1, 2]}] * 1000


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ('[{"a": 1},\n {"a" 1}]', "entry 2: malformed JSON at line 2, column 7 (Expecting ':' delimiter)"),
        ('[{"a": 1} {"a": 1}]', "entry 1: malformed JSON at line 1, column 11 (Expecting ',' or ']' after the entry)"),
        ('[{"a": 1},]', "entry 2: malformed JSON at line 1, column 11 (Expecting value)"),
        ('[{"a": 1},\n\n', "entry 2: malformed JSON at line 3, column 1 (Expecting value)"),
        ('[{"a": 1}', "entry 1: malformed JSON at line 1, column 10 (Expecting ',' or ']' after the entry)"),
        ('[{"a": 1}]\n]', "entry 1: malformed JSON at line 2, column 1 (Text after the end of the list)"),
        ('[{"a": "b\nc"}]', "entry 1: malformed JSON at line 1, column 10 (Invalid control character at)"),
        ('[{"a": "b}]', "entry 1: malformed JSON at line 1, column 8 (Unterminated string starting at)"),
        ("[{'a': 1}]", None),
        ("[", "entry 1: malformed JSON at line 1, column 2 (Expecting value)"),
        ("[nul]", "entry 1: malformed JSON at line 1, column 2 (Expecting value)"),
        ("[tru", "entry 1: malformed JSON at line 1, column 2 (Expecting value)"),
    ],
)
def test_malformed_lists_say_where(content, expected, size):
    expected = expected or (
        "entry 1: malformed JSON at line 1, column 3 (Expecting property name enclosed in double quotes)"
    )
    assert message(list_values(in_pieces(content, size), name="x.json")) == f"x.json, {expected}; mend it there"


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("content", "found"),
    [
        ('{"text": "a"}', "an object"),
        ('"text"', "a string"),
        ("  \n", "only white space"),
        ("Once upon", "text that begins with O"),
        ("12", "text that begins with 1"),
    ],
)
def test_not_a_list(content, found, size):
    assert message(list_values(in_pieces(content, size), name="x.json")) == (
        f"x.json: expected a JSON list of objects, found {found}; put the objects in [ and ], "
        "or name the file .jsonl if it has one object a line"
    )


def test_an_empty_list():
    assert message(list_values(["[ \n", " ]"], name="x.json")) == (
        "x.json is an empty list: expected a JSON list with at least one object"
    )


@pytest.mark.parametrize("size", [1, 5, 1000])
@pytest.mark.parametrize(
    ("number", "what"),
    [
        ("NaN", "NaN is not a JSON number; write null or a number"),
        ("-Infinity", "-Infinity is not a JSON number; write null or a number"),
        ("1e999", "1e999 is too large a number; write null or a number"),
        ("7" * 5000, "an integer of thousands of digits; write it as text"),
    ],
)
def test_numbers_that_are_none(number, what, size):
    content = f'[{{"a": 1}}, {{"a": {number}}}]'
    assert message(list_values(in_pieces(content, size), name="x.json")) == f"x.json, entry 2: {what}"
    assert message(line_values(["1", f"[{number}]"], name="x.jsonl")) == f"x.jsonl, entry 2: {what}"


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000])
def test_nesting_without_end(deep):
    expected = "x, entry 2: nested too deeply; flatten it"
    assert message(list_values(in_pieces("[{}, " + deep, 4096), name="x")) == expected
    assert message(line_values(["{}", deep], name="x")) == expected


def test_an_entry_that_is_never_closed_does_not_pull_in_the_file(monkeypatch):
    monkeypatch.setattr(features, "MAX_ENTRY", 10_000)
    drawn = 0

    def pieces():
        nonlocal drawn
        yield '[{"a": 1}, {"a": "'
        for drawn in range(1, 1_000_000):  # noqa: B007
            yield "x" * 100

    assert message(list_values(pieces(), name="x.json")) == (
        "x.json, entry 2: longer than 16 million characters; break it into smaller entries, "
        "or look for a quote or bracket that is not closed"
    )
    assert drawn < 500


def test_a_long_entry_is_decoded_a_few_times_only(monkeypatch):
    entry = {"words": ["word"] * 20_000}
    tries = []

    class Counting(json.JSONDecoder):
        def raw_decode(self, text, at=0):
            tries.append(at)
            return super().raw_decode(text, at)

    monkeypatch.setattr(features, "_DECODER", Counting())
    assert list(list_values(in_pieces(json.dumps([entry]), 100), name="x")) == [entry]
    assert len(tries) < 16  # 1,600 chunks


def test_a_malformed_entry_stops_the_reading_at_once():
    drawn = 0

    def pieces():
        nonlocal drawn
        yield '[{"a": oops}, '
        for drawn in range(1, 1_000_000):  # noqa: B007
            yield '{"a": 1}, ' * 10

    assert message(list_values(pieces(), name="x")) == (
        "x, entry 1: malformed JSON at line 1, column 8 (Expecting value); mend it there"
    )
    assert drawn < 10


def test_malformed_lines_say_where():
    lines = ['{"a": 1}', "", '{"a": }']
    assert message(line_values(lines, name="x.jsonl")) == (
        "x.jsonl, entry 2: malformed JSON at line 3, column 7 (Expecting value); mend it there"
    )
    assert message(line_values(['{"a": 1} {}'], name="x.jsonl")) == (
        "x.jsonl, entry 1: malformed JSON at line 1, column 10 (Text after the end of the object); mend it there"
    )
    assert message(line_values(["", "  "], name="x.jsonl")) == (
        "x.jsonl has only blank lines: expected a JSON object on each line"
    )
