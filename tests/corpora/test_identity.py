"""A document's id depends on its content: equal ones are numbered, copies are counted, order does not matter."""

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence, Mention
from headscope.corpora.document import Copies, Document, Numbering, distinct
from headscope.corpora.given import given_text
from headscope.corpora.reading import Ordered, read_corpus


def text(*lines, **more):
    return Document(lines=lines, **more)


@given(st.lists(st.sampled_from("abcde"), max_size=30), st.randoms())
def test_ids_are_unique_and_the_same_in_any_order(letters, random):
    documents = list(distinct(map(text, letters)))
    random.shuffle(letters)
    again = list(distinct(map(text, letters)))
    assert len({document.id for document in documents}) == len(documents)
    assert sorted((d.id, d.lines) for d in documents) == sorted((d.id, d.lines) for d in again)


def test_the_second_of_equal_documents_is_numbered():
    first, other, second, third = distinct([text("a"), text("b"), text("a"), text("a")])
    assert (second.id, third.id) == (f"{first.id}-2", f"{first.id}-3")
    assert other.id == text("b").id


def test_numbering_holds_for_more_ids_than_are_kept_unsorted(monkeypatch):
    monkeypatch.setattr("headscope.corpora.document._RECENT", 4)
    numbering = Numbering()
    ids = [f"{number * 7919 % 1009:x}" for number in range(300)]
    assert [numbering.unique(each) for each in ids] == ids
    assert [numbering.unique(each) for each in ids] == [f"{each}-2" for each in ids]
    assert numbering.unique(ids[0]) == f"{ids[0]}-3"


def test_all_that_is_measured_makes_a_document():
    sentence = AnnotatedSentence(words=("a", "b"), heads=(2, 0), relations=("x", "root"))
    made = [
        AnnotatedDocument(sentences=(sentence,)),
        AnnotatedDocument(sentences=(sentence, sentence)),
        AnnotatedDocument(sentences=(AnnotatedSentence(words=("a", "b")),)),
        AnnotatedDocument(sentences=(sentence,), mentions=(Mention(0, 1, "e"),)),
        AnnotatedDocument(sentences=(AnnotatedSentence(words=("a", "b"), spaces=(False, True)),)),
    ]
    assert len({document.id for document in made}) == len(made)
    assert AnnotatedDocument(sentences=(sentence,), origin="there", file=(3, "x")).id == made[0].id


def noted(documents):
    copies = Copies()
    for document in documents:
        copies.add(document)
    return copies.note("my.txt")


def test_copies_are_told_from_a_twentieth_of_the_documents_on():
    others = [text(str(number)) for number in range(18)]
    assert noted([*others, text("a"), text("a", fields={"url": "elsewhere"})]) == (
        "1 document of the 20 of my.txt (5%) repeats the text of another; intervals and tests count each as "
        "independent, so they claim too much: keep one of each"
    )
    assert noted([*others, text("x"), text("a"), text("a")]) is None
    assert noted([*others, *[text("a")] * 6]).startswith("5 documents of the 24 of my.txt (21%) repeat the text")
    assert noted([]) is None


@pytest.mark.parametrize("held", [0, 1 << 25])
def test_a_corpus_has_one_hash_and_is_read_by_ids_where_it_is_held(monkeypatch, held):
    monkeypatch.setattr("headscope.corpora.reading.MOST_HELD", held)
    documents = [text(letter) for letter in "abcdefgh"]
    corpora = [Ordered(lambda own=own: iter(own), name="x") for own in (documents, documents[::-1])]
    for corpus, own in zip(corpora, (documents, documents[::-1]), strict=True):
        assert list(corpus.first()) == own
    assert corpora[0].hexdigest == corpora[1].hexdigest
    read = [[document.id for document in corpus.read()] for corpus in corpora]
    assert read[1] == (read[0] if held else read[0][::-1])
    assert sorted(read[0]) == sorted(document.id for document in documents)


def test_what_is_drawn_from_one_stream_keeps_the_order_and_a_hash_of_it():
    documents = [text(letter) for letter in "abcdefgh"]
    corpora = [Ordered(lambda own=own: iter(own), name="x", as_written=True) for own in (documents, documents[::-1])]
    for corpus in corpora:
        assert list(corpus.first()) == list(corpus.read())
    assert corpora[0].hexdigest != corpora[1].hexdigest


SENTENCES = ["The cat\u2028sat  on the mat.", "It slept.", "The cat\u2028sat on the mat."]
LABELS = [0, 1, 1]


@pytest.fixture
def read(tmp_path):
    """Return a function that reads a file with the given content."""

    def read(name, content, **how):
        path = tmp_path / name
        path.write_text(content, encoding="utf-8", newline="")
        return list(read_corpus(path, **how))

    return read


def test_the_same_lines_have_the_same_ids_however_they_are_given(read):
    """Otherwise halves, donors and orders would differ between the command line and Python."""
    frame = pd.DataFrame({"sentence": SENTENCES, "label": LABELS})
    entries = [{"text": " ".join(line.split())} for line in SENTENCES]
    ways = {
        "lines": read("lines.txt", "\n".join(SENTENCES), by_line=True),
        "blocks": read("blocks.txt", "\r\n\r\n".join(SENTENCES)),
        "table": read("table.csv", frame.to_csv(index=False), column="sentence"),
        "entries": read("entries.jsonl", "\n".join(map(json.dumps, entries))),
        "list": given_text(SENTENCES),
        "one text": given_text("\n\n".join(SENTENCES)),
        "old line ends": given_text("\r\r".join(SENTENCES)),
        "frame": given_text(frame, column="sentence"),
        "documents": given_text(read("again.txt", "\n".join(SENTENCES), by_line=True)),
    }
    ids = {name: [document.id for document in documents] for name, documents in ways.items()}
    assert {name: each for name, each in ids.items() if each != ids["lines"]} == {}
    assert ids["lines"][2] == f"{ids['lines'][0]}-2"
    two = [read("two.txt", "One.\r\nTwo."), given_text(["One.\nTwo."]), given_text(["\ufeffOne.\rTwo."])]
    assert len({document.id for documents in two for document in documents}) == 1


def test_the_same_labeled_lines_have_the_same_ids_however_they_are_given(read):
    frame = pd.DataFrame({"sentence": SENTENCES, "label": LABELS})
    entries = [{"text": " ".join(line.split()), "label": label} for line, label in zip(SENTENCES, LABELS)]
    how = {"column": "sentence", "labels": "label"}
    ways = {
        "table": read("table.csv", frame.to_csv(index=False), **how),
        "frame": given_text(frame, **how),
        "small numbers": given_text(frame.astype({"label": "int8"}), **how),
        "text": given_text(frame.astype({"label": str}), **how),
        "entries": read("entries.jsonl", "\n".join(map(json.dumps, entries)), labels="label"),
    }
    ids = {name: [document.id for document in documents] for name, documents in ways.items()}
    assert {name: each for name, each in ids.items() if each != ids["table"]} == {}
    assert len(set(ids["table"])) == 3
    assert not any(each.endswith("-2") for each in ids["table"])  # the first and last text have different labels


def test_a_corpus_of_whole_lines_has_another_hash(read):
    """Its inputs differ, so that a run of one is never reused for the other."""
    hashes = set()
    for documents in (read("a.txt", "One.\nTwo.", by_line=True), read("b.txt", "One.\n\nTwo.")):
        corpus = Ordered(lambda documents=documents: iter(documents), name="text")
        list(corpus.read())
        hashes.add(corpus.hexdigest)
    assert len(hashes) == 2
