"""One stream of documents from a mixture of inputs."""

import gzip
import json
import os
import sys

import pytest

from headscope.corpora.reading import read_corpus
from headscope.errors import InputError, OptionError

GIVE = "give a text file, a .json features file, a directory of them, or - for standard input"


@pytest.fixture
def mixture(tmp_path):
    (tmp_path / "a.txt").write_text("One.\nTwo.\n\nThree.")
    (tmp_path / "b.json").write_text(json.dumps([{"words": ["Four"]}, {"text": "Three."}]))
    (tmp_path / "c.jsonl").write_text('{"tokens": ["Five"]}\n')
    (tmp_path / "d.json.gz").write_bytes(gzip.compress(b'[{"text": "Six."}]', mtime=0))
    (tmp_path / "e.gz").write_bytes(gzip.compress(b"[1] is no JSON in a text file.\n", mtime=0))
    return tmp_path


def contents(documents):
    return [document.lines or document.words or document.tokens for document in documents]


ALL = [("One.", "Two."), ("Three.",), ("Four",), ("Three.",), ("Five",), ("Six.",), ("[1] is no JSON in a text file.",)]


def test_extensions_tell_the_format_and_ids_are_unique(mixture):
    documents = list(read_corpus([mixture]))
    assert contents(documents) == ALL
    assert len({document.id for document in documents}) == len(documents)
    assert [document.origin.removeprefix(f"{mixture}/") for document in documents] == [
        "a.txt, line 1",
        "a.txt, line 4",
        "b.json, entry 1",
        "b.json, entry 2",
        "c.jsonl, entry 1",
        "d.json.gz, entry 1",
        "e.gz, line 1",
    ]


def test_ids_come_from_content_and_place_not_from_names(mixture, tmp_path_factory):
    copy = tmp_path_factory.mktemp("copy") / "other.name"
    copy.write_text("One.\nTwo.\n\n\n\nThree.\n")
    here, there = read_corpus([mixture / "a.txt"]), read_corpus([copy])
    assert [document.id for document in here] == [document.id for document in there]


def test_a_file_read_twice_has_other_ids_the_second_time(mixture):
    documents = list(read_corpus([mixture / "a.txt", mixture / "a.txt"]))
    assert len({document.id for document in documents}) == 4


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
def test_the_limit_counts_documents_over_all_files(mixture, limit):
    assert contents(read_corpus([mixture], limit_documents=limit)) == ALL[:limit]


def test_what_lies_beyond_the_limit_is_not_opened(mixture):
    (mixture / "b.json").write_text("broken")
    assert contents(read_corpus([mixture], limit_documents=2)) == ALL[:2]


@pytest.mark.parametrize("limit", [0, -3])
def test_a_limit_under_one(mixture, limit):
    with pytest.raises(OptionError) as caught:
        read_corpus([mixture], limit_documents=limit)
    assert str(caught.value) == f"expected a limit of 1 document or more, found {limit}; leave it out for all"


def test_a_missing_file_is_found_before_anything_is_read(mixture):
    with pytest.raises(InputError) as caught:
        read_corpus([mixture, mixture / "gone.txt"])
    assert str(caught.value) == f"no such file: {mixture}/gone.txt; {GIVE}"


def test_no_document_at_all():
    with pytest.raises(InputError) as caught:
        list(read_corpus([]))
    assert str(caught.value) == f"the corpus has no document: {GIVE}"


@pytest.mark.parametrize(
    ("piped", "expected", "origin"),
    [
        (b"One.\n\nTwo.\n", [("One.",), ("Two.",)], "standard input, line 1"),
        (b'\n  [{"words": ["a", "b"]}]', [("a", "b")], "standard input, entry 1"),
        (b'\xef\xbb\xbf\n {"text": "a"}\n{"text": "b"}', [("a",), ("b",)], "standard input, entry 1"),
        (gzip.compress(b'[{"text": "a"}]', mtime=0), [("a",)], "standard input, entry 1"),
        (b"(a) [b] {c}", [("(a) [b] {c}",)], "standard input, line 1"),
        (b"\n" * 70_000 + b" x", [("x",)], "standard input, line 70001"),
        (b"\n" * 70_000 + b'[{"text": "x"}]', [("x",)], "standard input, entry 1"),
    ],
)
def test_standard_input_shows_its_format_by_its_first_character(pipe_in, piped, expected, origin):
    pipe_in(piped)
    documents = list(read_corpus(["-"]))
    assert contents(documents) == expected
    assert documents[0].origin == origin


def test_standard_input_among_files(mixture, pipe_in):
    pipe_in(b"Piped.")
    documents = list(read_corpus([mixture / "c.jsonl", "-", mixture / "c.jsonl"]))
    assert contents(documents) == [("Five",), ("Piped.",), ("Five",)]
    assert len({document.id for document in documents}) == 3


def test_documents_come_from_a_pipe_before_it_is_closed(monkeypatch):
    out, into = os.pipe()
    with os.fdopen(out) as reader, os.fdopen(into, "wb", buffering=0) as writer:
        monkeypatch.setattr(sys, "stdin", reader)
        documents = read_corpus(["-"])
        writer.write(b"One.\n\nTwo")
        assert next(documents).lines == ("One.",)
        writer.write(b".")
        writer.close()
        assert contents(documents) == [("Two.",)]


@pytest.mark.parametrize(
    ("piped", "expected"),
    [
        (
            b"",
            "standard input is empty: expected text, one sentence or one paragraph a line, "
            "with a blank line between documents",
        ),
        (
            b" \n\t\n",
            "standard input has only blank lines: expected text, one sentence or one paragraph a line, "
            "with a blank line between documents",
        ),
        (
            b"[1] A note that is no JSON.",
            "standard input, entry 1: expected an object with text, words or tokens, found 1 "
            "(standard input that begins with [ is read as JSON, not as text)",
        ),
        (
            b"{braces}",
            "standard input, entry 1: malformed JSON at line 1, column 2 "
            "(Expecting property name enclosed in double quotes); mend it there "
            "(standard input that begins with { is read as JSON, not as text)",
        ),
    ],
)
def test_standard_input_that_cannot_be_read(pipe_in, piped, expected):
    pipe_in(piped)
    with pytest.raises(InputError) as caught:
        list(read_corpus(["-"]))
    assert str(caught.value) == expected


def test_a_treebank_is_not_read_as_text(tmp_path):
    path = tmp_path / "dev.conllu"
    path.write_text("1\tHi\thi\tINTJ\t_\t_\t0\troot\t_\t_\n\n")
    with pytest.raises(InputError) as refused:
        list(read_corpus(path))
    assert str(refused.value) == f"{path} is a treebank, not text; give it with --treebank (or --coref)"
