"""Documents from the JSON format of the paper's code."""

import gzip
import json

import pytest

from headscope.corpora.document import document_id
from headscope.corpora.reading import read_corpus
from headscope.errors import InputError

ENTRIES = [
    {"text": "A whole\ttext,  kept as it came.\n", "source": "me"},
    {"words": ["Two", "words"], "heads": [2, 0], "relns": ["det", "root"], "score": 0.5},
    {"tags": None, "tokens": ["[CLS]", "to", "##ken", "\n", "[SEP]"]},
]


def read(folder, entries, name="x.json"):
    path = folder / name
    path.write_text(entries if isinstance(entries, str) else json.dumps(entries), encoding="utf-8")
    return list(read_corpus([path]))


def message(folder, entries, name="x.json") -> str:
    """Return the text of the error, which must begin with the path."""
    with pytest.raises(InputError) as caught:
        read(folder, entries, name)
    text = str(caught.value)
    assert text.startswith(str(folder / name))
    return text.removeprefix(str(folder / name))


def test_the_three_contents_and_the_other_fields(tmp_path):
    text, words, tokens = read(tmp_path, ENTRIES)
    assert text.lines == ("A whole\ttext,  kept as it came.\n",)
    assert (text.words, text.tokens, text.fields) == (None, None, {"source": "me"})
    assert text.whole  # one input, never packed with another
    assert words.words == ("Two", "words")
    assert (words.lines, words.tokens) == ((), None)
    assert words.fields == {"heads": [2, 0], "relns": ["det", "root"], "score": 0.5}
    assert tokens.tokens == ("[CLS]", "to", "##ken", "\n", "[SEP]")
    assert (tokens.lines, tokens.words, tokens.fields) == ((), None, {"tags": None})


def test_ids_and_origins(tmp_path):
    documents = read(tmp_path, ENTRIES)
    ids = [document_id(document.content()) for document in documents]
    assert [document.id for document in documents] == ids
    assert len(set(ids)) == 3
    assert [document.origin for document in documents] == [f"{tmp_path}/x.json, entry {n}" for n in (1, 2, 3)]
    later = list(read_corpus([tmp_path / "x.json", tmp_path / "x.json"]))
    assert [document.id for document in later] == [*ids, *(f"{each}-2" for each in ids)]


def test_lists_lines_and_gzip_give_the_same(tmp_path):
    as_lines = "\n\n".join(json.dumps(entry) for entry in ENTRIES)
    listed = read(tmp_path, ENTRIES)
    pretty = read(tmp_path, json.dumps(ENTRIES, indent=4), "y.json")
    lined = read(tmp_path, as_lines, "x.JSONL")
    for name, content in (("x.json.gz", json.dumps(ENTRIES)), ("x.jsonl.gz", as_lines)):
        (tmp_path / name).write_bytes(gzip.compress(content.encode()))
    packed = [list(read_corpus([tmp_path / name])) for name in ("x.json.gz", "x.jsonl.gz")]
    plain = [(d.id, d.lines, d.words, d.tokens, d.fields) for d in listed]
    for other in (pretty, lined, *packed):
        assert [(d.id, d.lines, d.words, d.tokens, d.fields) for d in other] == plain


GOOD = {"text": "fine"}
ONE = "expected exactly one of text, words and tokens, found"


@pytest.mark.parametrize("name", ["x.json", "x.jsonl"])
@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("text", "expected an object with text, words or tokens, found the text 'text'"),
        (["a"], "expected an object with text, words or tokens, found a list"),
        (None, "expected an object with text, words or tokens, found null"),
        (3, "expected an object with text, words or tokens, found 3"),
        (True, "expected an object with text, words or tokens, found true"),
        ({}, f"{ONE} none of them among its fields (it has no field); add one"),
        ({"sentence": "a", "n\n": 1}, f"{ONE} none of them among its fields (sentence, n\\n); add one"),
        (dict.fromkeys("abcdefghij"), f"{ONE} none of them among its fields (a, b, c, d, e, f, g, h, ...); add one"),
        ({"tokens": ["a"], "text": "a"}, f"{ONE} text and tokens; keep one"),
        ({"tokens": ["a"], "words": ["a"], "text": "a"}, f"{ONE} text and words and tokens; keep one"),
        ({"text": ["a"]}, "expected text to be a string, found a list"),
        ({"text": None}, "expected text to be a string, found null"),
        ({"text": 1.5}, "expected text to be a string, found 1.5"),
        ({"text": ""}, "text is empty; fill it in or leave the entry out"),
        ({"text": " \n"}, "text is empty; fill it in or leave the entry out"),
        ({"words": "a b"}, "expected words to be a list of strings, found the text 'a b'"),
        ({"tokens": {"a": 1}}, "expected tokens to be a list of strings, found an object"),
        ({"words": []}, "words is an empty list; give at least one string or leave the entry out"),
        ({"words": ["a", 7]}, "expected item 2 of words to be a string, found 7"),
        ({"tokens": ["a", "b", ["c"]]}, "expected item 3 of tokens to be a string, found a list"),
        ({"words": [False]}, "expected item 1 of words to be a string, found false"),
        ({"words": ["a", " "]}, "item 2 of words is empty; fill it in or leave the entry out"),
        ({"tokens": ["a", ""]}, "item 2 of tokens is empty; fill it in or leave the entry out"),
        ({"text": "a\ud83d"}, "text has half of a character (\\ud83d); mend or remove it"),
        ({"words": ["\udc00b"]}, "item 1 of words has half of a character (\\udc00); mend or remove it"),
    ],
)
def test_entries_that_cannot_be_read(tmp_path, name, entry, expected):
    content = json.dumps([GOOD, entry, GOOD])
    if name == "x.jsonl":
        content = "\n".join(json.dumps(item) for item in (GOOD, entry, GOOD))
    assert message(tmp_path, content, name) == f", entry 2: {expected}"


def test_files_that_cannot_be_read(tmp_path):
    expected = " is empty: expected JSON objects, each with one of text, words and tokens"
    assert message(tmp_path, "") == expected
    assert message(tmp_path, "", "x.jsonl") == expected
    assert message(tmp_path, []) == " is an empty list: expected a JSON list with at least one object"
    assert message(tmp_path, "\n \n", "x.jsonl") == " has only blank lines: expected a JSON object on each line"
    assert message(tmp_path, '[{"text": "a"}, {"text": "b}]') == (
        ", entry 2: malformed JSON at line 1, column 26 (Unterminated string starting at); mend it there"
    )
    assert message(tmp_path, '{"text": "a"}') == (
        ": expected a JSON list of objects, found an object; put the objects in [ and ], "
        "or name the file .jsonl if it has one object a line"
    )
    assert message(tmp_path, '{"text": "a"}\n{"text": NaN}', "x.jsonl") == (
        ", entry 2: NaN is not a JSON number; write null or a number"
    )


def test_the_entries_before_a_bad_one_are_yielded(tmp_path):
    (tmp_path / "x.json").write_text('[{"text": "a"}, {"text": "b"}, {]')
    documents = read_corpus([tmp_path / "x.json"])
    assert [next(documents).lines, next(documents).lines] == [("a",), ("b",)]
    with pytest.raises(InputError, match="entry 3: malformed JSON"):
        next(documents)
