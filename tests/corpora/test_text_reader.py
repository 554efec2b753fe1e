"""Documents from plain text."""

import gzip
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.corpora import plain as text
from headscope.corpora.document import document_id
from headscope.corpora.plain import text_documents
from headscope.corpora.reading import read_corpus
from headscope.errors import InputError

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0\ufeff")
words = st.text(characters).map(lambda line: " ".join(line.split()))
lines = words.filter(bool)
corpora = st.lists(st.lists(lines, min_size=1, max_size=4), min_size=1, max_size=5)
blanks = st.lists(st.sampled_from(["", " ", "\t", "\u00a0", " \u3000 "]), min_size=1, max_size=3)


def read(content: str, name: str = "x.txt"):
    return list(text_documents(content.split("\n"), name=name))


def test_blank_lines_part_documents_and_the_last_needs_none():
    documents = read("One.\nTwo.\n\nThree.")
    assert [document.lines for document in documents] == [("One.", "Two."), ("Three.",)]
    assert [document.origin for document in documents] == ["x.txt, line 1", "x.txt, line 4"]
    assert [document.id for document in documents] == [
        document_id(b'[["One.","Two."],false,null,null,{}]\n'),
        document_id(b'[["Three."],false,null,null,{}]\n'),
    ]
    assert all(document.words is None and document.tokens is None for document in documents)
    assert all(document.fields == {} and not document.whole for document in documents)


def test_white_space_is_tidied_and_a_line_of_it_is_blank():
    documents = read("\n \n  One \t two\u00a0three.  \n\t\u3000\n\n\nFour.\n\n")
    assert [document.lines for document in documents] == [("One two three.",), ("Four.",)]
    assert [document.origin for document in documents] == ["x.txt, line 3", "x.txt, line 7"]


def test_without_blank_lines_a_file_is_one_document():
    (document,) = read("\n".join(f"Sentence {n}." for n in range(500)))
    assert len(document.lines) == 500


def test_every_file_begins_a_document_and_equal_ones_are_numbered(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("Same.\n\nSame.", encoding="utf-8")
    documents = list(read_corpus([tmp_path]))
    assert [document.lines for document in documents] == [("Same.",)] * 4
    first = documents[0].id
    assert [document.id for document in documents] == [first, f"{first}-2", f"{first}-3", f"{first}-4"]
    assert documents[3].origin == f"{tmp_path}/b.txt, line 3"


def test_only_blank_lines(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\n \n\t\r\n")
    with pytest.raises(InputError) as caught:
        list(read_corpus([path]))
    assert str(caught.value) == (
        f"{path} has only blank lines: expected text, one sentence or one paragraph a line, "
        "with a blank line between documents"
    )


def test_a_document_too_long_to_hold(monkeypatch):
    monkeypatch.setattr(text, "MAX_DOCUMENT", 10)
    assert len(read("aaaaa\nbbbbb\n\nccccc\nddddd\n")) == 2  # the limit holds for a document, not the file
    with pytest.raises(InputError) as caught:
        read("\naaaaa\n\nbbbbb\nccccc\nd\n", name="big.txt")
    assert str(caught.value) == (
        "big.txt, line 4: a document of more than 64 million characters begins here; put a blank line between documents"
    )


def test_documents_come_before_the_rest_is_read():
    def endless():
        while True:
            yield from ("One.", "Two.", "")

    documents = text_documents(endless(), name="x")
    assert [next(documents).origin for _ in range(3)] == ["x, line 1", "x, line 4", "x, line 7"]


@settings(max_examples=60)
@given(corpus=corpora, between=blanks, ending=st.sampled_from(["\n", "\r\n"]), closed=st.booleans(), data=st.data())
def test_what_is_written_is_read_back(corpus, between, ending, closed, data):
    spaces = st.sampled_from(["", " ", "\t ", "\u2003"])
    written = [
        [data.draw(spaces) + line.replace(" ", data.draw(spaces) + " ") + data.draw(spaces) for line in block]
        for block in corpus
    ]
    content = ending.join(ending.join([*block, *between]) for block in written[:-1])
    content = ending.join([content] * bool(content) + written[-1]) + ending * closed
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = Path(folder, "a.txt"), Path(folder, "b.txt.gz")
        plain.write_bytes(content.encode())
        packed.write_bytes(gzip.compress(content.encode()))
        for path in (plain, packed):
            documents = list(read_corpus([path]))
            assert [list(document.lines) for document in documents] == corpus
            assert len({document.id for document in documents}) == len(corpus)
