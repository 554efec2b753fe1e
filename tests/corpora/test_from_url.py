"""Corpora by address: downloaded once, however often they are read."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest

from headscope.corpora.by_name import resolve
from headscope.corpora.given import given_text
from headscope.corpora.reading import read_corpus
from headscope.corpora.remote import SCHEMES, copied, is_address
from headscope.errors import InputError
from headscope.installing import how_to_install
from headscope.scans.prepare.annotated import AnnotatedCorpus
from headscope.scans.prepare.text_corpus import TextCorpus

TEXT = "The cat sat on the mat.\nIt slept.\n\nA dog came by.\n"


@pytest.fixture(autouse=True)
def opened(monkeypatch):
    """Return the list of files opened in an empty in-memory store."""
    copied.cache_clear()
    store, seen = fsspec.filesystem("memory"), []
    plain = type(store).open
    monkeypatch.setattr(
        type(store), "open", lambda self, path, *given, **how: seen.append(path) or plain(self, path, *given, **how)
    )
    tree = "1\tIt\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    for name, text in (("one.txt", TEXT), ("two.txt", TEXT.upper()), ("tree.conllu", tree)):
        store.pipe_file(f"/own/{name}", text.encode())
    seen.clear()
    yield seen
    store.rm("/own", recursive=True)
    copied.cache_clear()


def test_text_at_an_address_is_text_of_a_file_and_read_once(opened, tmp_path):
    (tmp_path / "one.txt").write_text(TEXT)
    corpus, local = TextCorpus(("memory://own/one.txt",)), TextCorpus((str(tmp_path / "one.txt"),))
    assert corpus.digest() == local.digest()
    for _ in range(2):
        found, expected = ([replace(each, origin="") for each in one.read()] for one in (corpus, local))
        assert found == expected
    assert corpus.name == local.name == "one.txt"
    assert opened == ["/own/one.txt"]


def test_a_pattern_means_its_files_in_order():
    found = resolve(["memory://own/*.txt", "mine.txt"])
    assert [Path(path).name for path in found] == ["one.txt", "two.txt", "mine.txt"]
    first = TEXT.partition("\n")[0]
    assert [document.lines[0] for document in read_corpus(found[:2])][::2] == [first, first.upper()]


def test_a_treebank_at_an_address():
    assert AnnotatedCorpus.treebank(("memory://own/tree.conllu",)).digest()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("memory://own/none.txt", "no such file: memory://own/none.txt; give the address of a file that is there"),
        ("memory://own/*.csv", "no file matches memory://own/*.csv; look at the pattern, or give files by name"),
        ("memory://own", "memory://own is a folder; give its files by name, or by a pattern as .../*.txt"),
        (
            "reference://own/x.json",
            "reference://own/x.json: addresses that begin with reference:// are not read; expected "
            f"{', '.join(SCHEMES)}, or a local file",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(address, words):
    with pytest.raises(InputError) as refused:
        resolve([address])
    assert str(refused.value) == words


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(InputError) as refused:
        resolve(["s3://bucket/wiki.txt"])
    text = str(refused.value)
    assert text.startswith("s3://bucket/wiki.txt: reading s3:// needs a package that is not installed (")
    assert text.endswith(how_to_install("remote"))


def test_what_a_store_says_reaches_the_user(monkeypatch):
    def refuse(*given):
        raise RuntimeError("the key\x1b has expired")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "size", refuse)
    with pytest.raises(InputError) as refused:
        resolve(["memory://own/one.txt"])
    assert str(refused.value) == (
        "cannot read memory://own/one.txt: RuntimeError: the key\\x1b has expired; look at the address, at the "
        "permission to read it, at the network, and at what memory:// needs on this machine"
    )


def test_more_than_the_disk_holds_is_refused_before_it_is_copied(monkeypatch, opened):
    monkeypatch.setattr(type(fsspec.filesystem("memory")), "size", lambda *_: 10**18)
    with pytest.raises(InputError, match=r"1 file of 1000000000.0 GB, and .* has .* GB free; set TMPDIR to a larger"):
        resolve(["memory://own/one.txt"])
    assert opened == []


def test_what_is_an_address():
    for name in ("s3://bucket/a.txt", "hdfs://host:8020/a/b.txt", "gs://b/*.txt", "x-y+z.1://a"):
        assert is_address(name)
    for name in ("a.txt", "/a/b", "ud:en_ewt", "s3:/a", "://a", "see s3://b/a.txt", "-", "C:\\a.txt"):
        assert not is_address(name)


def test_texts_in_memory_are_no_addresses(opened):
    """In Python, a text that contains an address or file name among other words is a text."""
    assert given_text("memory://own/one.txt") == ("memory://own/one.txt",)
    found = given_text(["see https://example.org", "or memory://own/one.txt"])
    assert [document.lines for document in found] == [("see https://example.org",), ("or memory://own/one.txt",)]
    assert opened == []


def test_copies_are_gone_with_the_process(tmp_path):
    code = (
        "import fsspec; from headscope.corpora.by_name import resolve\n"
        "fsspec.filesystem('memory').pipe_file('/a.txt', b'text')\n"
        "print(open(resolve(['memory://a.txt'])[0]).read())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert (done.stdout, done.stderr) == ("text\n", "")
    assert list(tmp_path.iterdir()) == []
