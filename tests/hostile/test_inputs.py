"""Damaged and malicious corpora: every reader returns documents or raises an error with a printable message."""

import time

import pytest

from headscope.corpora.annotation import refusing_unmatched
from headscope.errors import HeadscopeError
from support.hostile import each, printable
from support.hostile_inputs import DAMAGES, READERS, damaged, dropped, parquet_cases, read_parquet, refused

SECONDS = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return one folder for all cases: each writes its file anew."""
    return tmp_path_factory.mktemp("hostile")


def outcome(case, folder, read):
    """Return the documents or the error message of a read, and check its duration and message."""
    path = case.make(folder)
    began = time.perf_counter()
    documents, said = None, None
    try:
        documents = read(path)
    except HeadscopeError as error:
        said = str(error)
    assert time.perf_counter() - began < SECONDS
    assert said is None or (printable(said) and len(said) < 2000), repr(said)
    return documents, said


@pytest.mark.parametrize("reader", READERS)
def test_the_file_that_is_damaged_is_good(reader, folder):
    path = folder / READERS[reader].file
    path.write_text(READERS[reader].good)
    assert READERS[reader].all(path)


@each(damaged())
def test_damage(case, folder):
    reader = READERS[case.name.partition(":")[0]]
    documents, error = outcome(case, folder, reader.all)
    assert documents or error
    assert all(told(each) for each in documents or ())


def told(document):
    """Return True if the messages on a document's brackets can be printed."""
    said = [str(each) for each in getattr(document, "unmatched", ())]
    return all(printable(each) and len(each) < 1000 for each in said)


@each(dropped())
def test_dropped(case, folder):
    reader = READERS[case.name.partition(":")[0]]
    documents, error = outcome(case, folder, reader.all)
    assert error is None
    assert case.says in str(documents[0].unmatched[0])
    assert told(documents[0])
    strict, error = outcome(case, folder, lambda path: list(refusing_unmatched(reader.all(path))))
    assert strict is None
    assert documents[0].unmatched[0].fault in error


@each(parquet_cases())
def test_parquet(case, folder):
    outcome(case, folder, read_parquet)


@each(refused())
def test_refused(case, folder):
    reader = READERS[case.name.partition(":")[0]]
    documents, error = outcome(case, folder, reader.all)
    assert documents is None
    assert case.says in error


def test_there_are_many():
    assert len(READERS) * len(DAMAGES) > 1000
