"""The digest of a corpus: content and order, nothing else."""

import gzip
import json
import tempfile
from dataclasses import replace
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headscope.corpora.document import CorpusDigest, Document
from headscope.corpora.reading import read_corpus
from headscope.errors import InputError

line = st.text("abé[{ .\"'\\", min_size=1, max_size=6).map(str.strip).filter(bool)
blocks = st.lists(st.lists(line, min_size=1, max_size=3), min_size=1, max_size=6)


def digest(documents) -> str:
    reading = CorpusDigest(documents)
    for _ in reading:
        pass
    return reading.hexdigest


def text(*lines: str) -> Document:
    return Document(id="x", lines=lines)


def test_documents_pass_unchanged_and_are_counted_as_they_are_drawn():
    documents = [text("a"), text("b")]
    reading = CorpusDigest(documents)
    assert (reading.documents, reading.hexdigest) == (0, digest([]))
    assert next(reading) is documents[0]
    assert (reading.documents, reading.hexdigest) == (1, digest([text("a")]))
    assert list(reading) == [documents[1]]
    assert list(reading) == []  # a second pass must not count twice
    assert (reading.documents, reading.hexdigest) == (2, digest(documents))


def test_the_digest_is_fixed():
    # a literal stream, since runs of different versions must agree on the digest of a corpus
    stream = b'[["caf\\u00e9","b"],false,null,null,{}]\n' + b'[[],false,["w"],null,{"heads":[0],"z":{"a":1}}]\n'
    documents = [text("café", "b"), Document(id="y", words=("w",), fields={"z": {"a": 1}, "heads": [0]})]
    assert digest(documents) == blake2b(stream, digest_size=16).hexdigest()


def test_every_part_of_the_content_counts():
    base = text("a", "b")
    corpora = [
        [base],
        [text("a b")],
        [text("b", "a")],
        [text("a"), text("b")],
        [text("b"), text("a")],
        [base, base],
        [text('a","b')],
        [replace(base, whole=True)],
        [Document(id="x", words=("a", "b"))],
        [Document(id="x", tokens=("a", "b"))],
        [replace(base, fields={"heads": [1, 0]})],
        [replace(base, fields={"heads": [0, 1]})],
        [replace(base, fields={"heads": "[0, 1]"})],
        [],
    ]
    assert len({digest(corpus) for corpus in corpora}) == len(corpora)


def test_names_ids_and_the_order_of_fields_do_not_count():
    one = Document(id="1", lines=("a",), fields={"p": 1, "q": 2}, origin="here, line 1")
    other = Document(id="2", lines=("a",), fields={"q": 2, "p": 1}, origin="there, line 9")
    assert digest([one]) == digest([other])


@settings(max_examples=50)
@given(blocks=blocks, data=st.data())
def test_splitting_a_corpus_over_files_changes_neither_documents_nor_digest(blocks, data):
    cuts = data.draw(st.sets(st.integers(1, len(blocks) - 1))) if len(blocks) > 1 else set()
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder, "whole.txt")
        whole.write_text("\n\n".join("\n".join(block) for block in blocks), encoding="utf-8")
        parts = []
        for number, (start, end) in enumerate(pairwise([0, *sorted(cuts), len(blocks)])):
            content = "\n \n".join("\n".join(block) for block in blocks[start:end]).encode() + b"\n"
            packed = data.draw(st.booleans())
            parts.append(Path(folder, f"part-{number}"))
            parts[-1].write_bytes(gzip.compress(content) if packed else content)
        one, many = CorpusDigest(read_corpus([whole])), CorpusDigest(read_corpus(parts))
        assert [(d.id, d.lines) for d in one] == [(d.id, d.lines) for d in many]
        assert (one.documents, one.hexdigest) == (many.documents, many.hexdigest)
        assert one.documents == len(blocks)


@settings(max_examples=30)
@given(blocks=blocks)
def test_a_list_and_lines_of_json_are_the_same_corpus(blocks):
    texts = [" ".join(block) for block in blocks]
    with tempfile.TemporaryDirectory() as folder:
        features, lined = Path(folder, "x.json"), Path(folder, "y.jsonl")
        features.write_text(json.dumps([{"text": line} for line in texts]))
        lined.write_text("\n".join(json.dumps({"text": line}) for line in texts))
        assert digest(read_corpus([features])) == digest(read_corpus([lined]))


def test_fields_that_are_not_json():
    with pytest.raises(InputError) as caught:
        digest([Document(id="x", lines=("a",), fields={"set": {1}}, origin="x.json, entry 3")])
    assert str(caught.value) == (
        "x.json, entry 3: its fields cannot be written as JSON "
        "(Object of type set is not JSON serializable); leave them out"
    )
