"""Pipes are read once and kept; sockets, devices and pipes without a writer are refused with a message."""

import json
import os
import socket
import threading
import time

import pytest

from headscope.corpora.files import expand
from headscope.corpora.opening import GIVE, is_pipe
from headscope.corpora.trees.treebank import coreference_files, form_of, read_treebank
from headscope.errors import HeadscopeError, InputError, OptionError
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.annotated import AnnotatedCorpus, mention_corpora
from headscope.scans.prepare.text_corpus import TextCorpus
from headscope_train.text import TrainingText
from support.hostile import printable
from support.hostile_inputs import READERS
from support.model_folders import save_tiny_bert

TEXT = "Ann saw the dog on the mat. It slept.\nThe dog then ran away, and Ann ran too.\n\n" * 12
SUFFIXES = {name: reader.file.removeprefix("a") for name, reader in READERS.items()}
NOTHING = (
    "is a pipe that nothing was written to within 0.2 seconds; start what writes to it (it can be read only once), "
    "or give a file"
)


@pytest.fixture(autouse=True)
def short_wait(monkeypatch):
    monkeypatch.setattr("headscope.corpora.opening.WRITER_SECONDS", 0.2)


@pytest.fixture
def fifo(tmp_path):
    """Return a function that makes a named pipe and writes the content once a reader opens it."""

    def make(name, content=None, *, late=0.0):
        path = tmp_path / name
        os.mkfifo(path)

        def write():
            with path.open("w") as stream:  # this waits for the reader
                time.sleep(late)
                stream.write(content)

        if content is not None:
            threading.Thread(target=write, daemon=True).start()
        return path

    return make


@pytest.fixture
def descriptor():
    """Return a function that gives a path such as /dev/fd/63, as the shell's `<(...)` does."""
    opened = []

    def make(content):
        reading, writing = os.pipe()
        opened.append(reading)

        def write():
            with os.fdopen(writing, "w") as stream:
                stream.write(content)

        threading.Thread(target=write, daemon=True).start()
        return f"/dev/fd/{reading}"

    yield make
    for number in opened:
        os.close(number)


@pytest.fixture
def listening(tmp_path):
    with socket.socket(socket.AF_UNIX) as made:
        # A socket's path is limited in length, and pytest's paths are too long.
        before = os.getcwd()
        os.chdir(tmp_path)
        try:
            made.bind("s.txt")
        finally:
            os.chdir(before)
        yield tmp_path / "s.txt"


# --- pipes that are read once


@pytest.mark.parametrize("name", READERS)
def test_a_named_pipe_is_read_as_the_file_of_its_name(name, fifo):
    reader = READERS[name]
    documents = reader.all(fifo(reader.file, reader.good))
    assert documents


@pytest.mark.parametrize("late", [0.0, 0.1])
def test_text_is_spooled_and_read_as_often_as_asked(fifo, tmp_path, late):
    plain = tmp_path / "plain.txt"
    plain.write_text(TEXT)
    corpus = TextCorpus((str(fifo("a.txt", TEXT, late=late)),))
    assert corpus.digest() == TextCorpus((str(plain),)).digest()
    assert len(list(corpus.read())) == len(list(corpus.read())) == 12


@pytest.mark.parametrize(
    "content", [TEXT, json.dumps([{"text": "a"}, {"text": "b"}]), '{"text": "a"}\n{"text": "b"}\n']
)
def test_the_shells_substitution_shows_its_format_as_standard_input_does(descriptor, content):
    corpus = TextCorpus((descriptor(content),))
    number, _ = corpus.digest()
    assert number == len(list(corpus.read())) == (12 if content == TEXT else 2)


def test_two_of_them_and_a_file(descriptor, tmp_path):
    plain = tmp_path / "plain.txt"
    plain.write_text("One line.\n")
    corpus = TextCorpus((descriptor("Two lines.\n"), str(plain), descriptor("Three lines.\n")))
    assert corpus.digest()[0] == 3
    read = sorted(document.lines[0] for document in corpus.read())
    assert read == ["One line.", "Three lines.", "Two lines."]


def test_a_treebank_without_a_name_is_conllu(descriptor):
    path = descriptor(READERS["conllu"].good)
    assert form_of(path) == ".conllu"
    corpus = AnnotatedCorpus.treebank((path,))
    first = corpus.digest()
    assert corpus.digest() == first
    assert corpus.sentences == sum(len(document.sentences) for document in corpus.read()) == 2


def test_a_treebank_without_a_name_that_is_something_else(descriptor):
    path = descriptor("the 2-det\nfox 0-root\n")
    with pytest.raises(InputError) as caught:
        list(read_treebank(path))
    assert str(caught.value).startswith(f"{path}, line 1: expected 10 columns with tabs between them")


@pytest.mark.parametrize("name", ["conllu", "relations", "trees"])
def test_a_treebanks_pipe_is_kept(name, fifo):
    reader = READERS[name]
    corpus = AnnotatedCorpus.treebank((str(fifo(reader.file, reader.good)),))
    assert corpus.digest() == corpus.digest()


@pytest.mark.parametrize("name", ["entities", "conll2012"])
def test_a_coreference_pipe_is_kept(name, fifo):
    reader = READERS[name]
    corpus = AnnotatedCorpus.coreference((str(fifo(reader.file, reader.good)),))
    assert corpus.digest() == corpus.digest()
    assert corpus.mentions


def test_a_gap_pipe_is_kept(fifo):
    _, corpus = mention_corpora((str(fifo("a.tsv", READERS["gap"].good)),))
    assert corpus is not None
    assert corpus.digest() == corpus.digest()
    assert len(list(corpus.read(limit=1))) == 1


def test_training_keeps_a_pipe(fifo, descriptor):
    text = TrainingText(text=(str(fifo("a.txt", TEXT)),), treebank=(descriptor(READERS["conllu"].good),))
    lines = list(text.lines())
    assert lines == list(text.lines())
    assert len(list(text.read())) == 13


# --- refused inputs


def message(action):
    began = time.monotonic()
    with pytest.raises(HeadscopeError) as caught:
        action()
    assert time.monotonic() - began < 5
    assert printable(str(caught.value))
    return str(caught.value)


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_without_a_writer_is_refused(name, fifo):
    reader = READERS[name]
    path = fifo(reader.file)
    assert message(lambda: reader.all(path)) == f"{path} {NOTHING}"


def test_a_pipe_whose_writer_says_nothing_and_goes(fifo):
    path = fifo("a.txt", "")
    assert message(lambda: TextCorpus((str(path),)).digest()) == f"{path} {NOTHING}"


def test_a_second_reader_of_a_pipe_is_refused(fifo):
    path = fifo("a.txt", TEXT)
    assert message(lambda: TextCorpus((str(path), str(path))).digest()) == f"{path} {NOTHING}"


@pytest.mark.slow
def test_a_silent_writer_is_waited_for_with_a_word(fifo):
    path = fifo("a.txt", TEXT, late=1.5)
    with pytest.warns(UserWarning, match="a pipe whose writer is silent") as told:
        assert TextCorpus((str(path),)).digest()[0] == 12
    words = [str(each.message) for each in told if each.category is UserWarning]
    assert words == [f"waiting for {path}, a pipe whose writer is silent"]


@pytest.mark.parametrize("suffix", sorted(set(SUFFIXES.values())))
def test_a_pipe_in_a_folder(suffix, tmp_path):
    (tmp_path / "sub").mkdir()
    path = tmp_path / "sub" / f"p{suffix}"
    os.mkfifo(path)
    assert message(lambda: list(expand(tmp_path, suffixes=(suffix,)))) == (
        f"{path} is a pipe: a folder's files are read, and a pipe only where it is given by name; take it out of the "
        "folder"
    )


@pytest.mark.parametrize("name", READERS)
def test_a_socket(name, listening):
    target = listening.with_name(f"t{SUFFIXES[name]}")
    target.symlink_to(listening)
    said = message(lambda: READERS[name].all(target))
    assert said.startswith(f"{target} is a socket, not a file; ")


def test_a_socket_in_a_folder(listening):
    assert message(lambda: list(expand(listening.parent))) == f"{listening} is a socket, not a file; {GIVE}"


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/tty", "/dev/urandom", "/dev/full"])
@pytest.mark.parametrize("name", READERS)
def test_a_device(name, device, tmp_path):
    target = tmp_path / READERS[name].file
    target.symlink_to(device)
    said = message(lambda: READERS[name].all(target))
    assert said.startswith(f"{target} is a device, not a file; ")


@pytest.mark.parametrize("name", [name for name in READERS if name != "entities"])
def test_the_null_device_is_empty(name, tmp_path):
    target = tmp_path / READERS[name].file
    target.symlink_to("/dev/null")
    assert f"{target} is empty: expected " in message(lambda: READERS[name].all(target))


@pytest.mark.parametrize("name", ["glove", "word2vec"])
def test_a_folder_where_a_file_is_expected(name, tmp_path):
    assert message(lambda: READERS[name].all(tmp_path)) == f"cannot read {tmp_path}: is a directory; {GIVE}"


def test_coreference_without_a_name(descriptor):
    path = descriptor(READERS["entities"].good)
    said = message(lambda: coreference_files(path))
    assert said.startswith(f"{path}: expected a name that ends in .conllu, ")
    assert said.endswith("write the pipe to a file named by its format")


def test_word_vectors_are_read_twice(fifo, listening, tmp_path):
    path = fifo("v.txt")
    assert message(lambda: RunOptions(vectors=path).vectors_hash) == (
        f"--vectors {path} is a pipe, which can be read only once; write it to a file, and give that"
    )
    for place, kind in ((listening, "a socket"), ("/dev/zero", "a device")):
        target = tmp_path / "t.txt"
        target.unlink(missing_ok=True)
        target.symlink_to(place)
        options = RunOptions(vectors=target)
        assert message(lambda own=options: own.vectors_hash) == (
            f"--vectors {target} is {kind}; expected a GloVe or word2vec text file"
        )
    with pytest.raises(OptionError, match="cannot be read"):
        _ = RunOptions(vectors=tmp_path).vectors_hash


def test_what_a_pipe_is(fifo, tmp_path):
    assert is_pipe(fifo("a.txt"))
    assert not any(map(is_pipe, ("-", str(tmp_path), "/dev/null", "no such file", "a\0b", "")))


# --- commands


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")


def test_stats_of_a_substitution(cli, model, descriptor):
    code, out, err = cli("stats", "--model", model, "--text", descriptor(TEXT), "--max-length", 32, "--quiet")
    assert code == 0, err
    assert "percent of attention" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ("stats", "--text"),
        ("report", "--out", "out", "--text"),
        ("extract", "--out", "out", "--text"),
        ("segments", "--out", "out.json", "--text"),
        ("train", "--size", "1x1x8", "--out", "out", "--text"),
        ("train", "--size", "1x1x8", "--out", "out", "--treebank"),
        ("syntax", "--treebank"),
        ("syntax", "--treebank", "a.conllu", "--treebank"),
        ("probes", "--treebank", "a.conllu", "--treebank-train"),
        ("coref", "--coref"),
        ("importance", "--text"),
        ("distances", "--text"),
        ("stats", "--maps"),
        ("convert",),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("kind", ["pipe", "folder", "socket", "device"])
def test_every_command_refuses_in_words(cli, arguments, kind, model, fifo, listening, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.conllu").write_text(READERS["conllu"].good)
    path = tmp_path / (
        "p.conllu" if {"--treebank", "--coref"} & set(arguments) or arguments == ("convert",) else "p.txt"
    )
    if kind == "pipe":
        fifo(path.name)
    elif kind == "folder":
        path.mkdir()
        os.mkfifo(path / f"in{path.suffix}")
    else:
        path.symlink_to(listening if kind == "socket" else "/dev/zero")
    more = ["out.txt"] if arguments == ("convert",) else []
    if arguments[0] not in ("train", "convert", "segments") and "--maps" not in arguments:
        more = ["--model", model]
    began = time.monotonic()
    code, _, err = cli(*arguments, path, *more)
    assert code == 2
    assert err.startswith("headscope: ")
    assert str(path) in err
    assert printable(err)
    assert time.monotonic() - began < 30  # this includes imports, which are slow here because every call is checked
    assert not (tmp_path / "out").exists()


def test_convert_of_a_nameless_pipe(cli, descriptor, tmp_path):
    path = descriptor(READERS["conllu"].good)
    code, _, err = cli("convert", path, tmp_path / "maps")
    assert code == 2
    assert err == (
        f"headscope: {path} is not a file; a pipe can be converted if its name ends in .conllu, .txt, .json, .jsonl, "
        "else write it to a file, and give that\n"
    )


def test_convert_of_a_named_pipe(cli, fifo, tmp_path):
    code, out, err = cli("convert", fifo("a.conllu", READERS["conllu"].good), tmp_path / "b.txt")
    assert code == 0, err
    assert "2 sentences" in out


def test_segments_of_a_pipe_need_a_place(cli, descriptor):
    code, _, err = cli("segments", "--text", descriptor(TEXT))
    assert code == 2
    assert err == "headscope: give --out: there is not one input file to name the segments after\n"
