"""A corpus that changes between two reads is noticed and named, and no result of it is written."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoModelForMaskedLM

from headscope.analyses.probes.word_vectors import read_vectors
from headscope.corpora.reading import Passes
from headscope.errors import HeadscopeError, InputError
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.annotated import AnnotatedCorpus, AnnotatedText, GapCorpus
from headscope.scans.prepare.text_corpus import TextCorpus
from headscope_train.text import TrainingText
from support.hostile import printable
from support.hostile_changes import CHANGES
from support.hostile_inputs import READERS
from support.model_folders import save_tiny_bert
from support.task_models import save_with_head

TEXT = "Ann saw the dog on the mat. It slept.\nThe dog then ran away, and Ann ran too.\n\n" * 12
AGAIN = "run again when nothing writes to it"


@pytest.fixture(autouse=True)
def short_wait(monkeypatch):
    monkeypatch.setattr("headscope.corpora.opening.WRITER_SECONDS", 0.1)


@pytest.fixture(autouse=True)
def nothing_is_held(monkeypatch):
    """Let corpora be read anew each time, like a corpus too large for memory."""
    monkeypatch.setattr("headscope.corpora.reading.MOST_HELD", 0)


@dataclass(frozen=True)
class Twice:
    """A corpus with the functions of its first and second read."""

    file: str
    good: str
    opened: Callable[[Path], Any]
    first: Callable[[Any], object]
    again: Callable[[Any], object]


@dataclass(frozen=True)
class Named:
    """A document with only an id."""

    id: str

    def text(self):
        return ()


def digest(corpus):
    return corpus.digest()


def read(corpus):
    return list(corpus.read())


_TREES = READERS["conllu"].good * 3
_GAP = READERS["gap"].good.replace("Anna met", "Anna dog").replace("Bob told", "Bob dogs")
TWICE = {
    "text": Twice("a.txt", TEXT, lambda p: TextCorpus((str(p),)), digest, read),
    "text in a folder": Twice("in/a.txt", TEXT, lambda p: TextCorpus((str(p.parent),)), digest, read),
    "features": Twice(
        "a.json", json.dumps([{"text": "a dog"}, {"text": "b"}]), lambda p: TextCorpus((str(p),)), digest, read
    ),
    "treebank": Twice("a.conllu", _TREES, lambda p: AnnotatedCorpus.treebank((str(p),)), digest, read),
    "treebank, read in part": Twice(
        "a.conllu",
        _TREES,
        lambda p: AnnotatedCorpus.treebank((str(p),)),
        lambda corpus: list(corpus.read(sentences=6)),
        digest,
    ),
    "coreference": Twice("a.conllu", _TREES, lambda p: AnnotatedCorpus.coreference((str(p),)), digest, read),
    "its text": Twice("a.conllu", _TREES, lambda p: AnnotatedText([AnnotatedCorpus.treebank((str(p),))]), digest, read),
    "conll-2012": Twice(
        "a.conll", READERS["conll2012"].good, lambda p: AnnotatedCorpus.coreference((str(p),)), digest, read
    ),
    "gap": Twice("a.tsv", _GAP, lambda p: GapCorpus((str(p),)), digest, read),
    "training text": Twice("a.txt", TEXT, lambda p: TrainingText(text=(str(p),)), lambda c: list(c.lines()), read),
    "training treebank": Twice(
        "a.conllu", _TREES, lambda p: TrainingText(treebank=(str(p),)), lambda c: list(c.lines()), read
    ),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", TWICE)
def test_a_change_between_two_readings_is_noticed(kind, change, tmp_path):
    own = TWICE[kind]
    path = tmp_path / own.file
    path.parent.mkdir(exist_ok=True)
    path.write_text(own.good)
    corpus = own.opened(path)
    own.first(corpus)
    own.again(corpus)
    CHANGES[change](path)
    with pytest.raises(InputError) as caught:
        own.again(corpus)
    said = str(caught.value)
    assert said.startswith(
        f"{path.parent.name if kind == 'text in a folder' else path.name} changed while it was read: "
    )
    assert said.endswith(f"; {AGAIN}")
    assert printable(said)


def test_what_is_said():
    held = [Named("a"), Named("b")]
    passes = Passes("x.txt")

    def changed(*items):
        with pytest.raises(InputError) as caught:
            list(passes.watch(lambda: map(Named, items)))
        return str(caught.value)

    assert list(passes.watch(lambda: iter(held))) == held
    assert passes.items == 2
    assert changed("a", "c") == f"x.txt changed while it was read: document 2 is another than before; {AGAIN}"
    assert changed("a") == f"x.txt changed while it was read: it has 1 document and had 2; {AGAIN}"
    assert changed("a", "b", "c") == (
        f"x.txt changed while it was read: it goes on behind document 2, which was its last; {AGAIN}"
    )
    assert list(passes.watch(lambda: iter(held))) == held


def test_a_reading_that_stops_early_is_compared_as_far_as_it_goes():
    passes = Passes("x.txt")
    part = passes.watch(lambda: map(Named, "abc"))
    assert [next(part).id, next(part).id] == ["a", "b"]
    assert [each.id for each in passes.watch(lambda: map(Named, "abcd"))] == list("abcd")
    assert next(passes.watch(lambda: map(Named, "a?"))).id == "a"
    later = passes.watch(lambda: map(Named, "a?"))
    next(later)
    with pytest.raises(InputError, match="document 2 is another"):
        next(later)


def test_an_error_of_the_first_reading_is_its_own(tmp_path):
    with pytest.raises(InputError) as caught:
        TextCorpus((str(tmp_path / "no.txt"),)).digest()
    assert str(caught.value).startswith("no such file")


def test_the_written_text_of_a_sentence_counts(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(_TREES)
    text = AnnotatedText([AnnotatedCorpus.treebank((str(path),))])
    text.digest()
    path.write_text(_TREES.replace("# text = Ann saw her dog.", "# text = Ann  saw her dog."))
    with pytest.raises(InputError, match="document 1 is another"):
        list(text.read())


@pytest.mark.parametrize("change", [name for name in CHANGES if name != "a pipe"])
def test_word_vectors(change, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text(READERS["glove"].good + "dog 1 2 3\n")
    options = RunOptions(vectors=path)
    before = options.vectors_hash
    assert read_vectors(path, ["the"], sha256=before).width == 3
    CHANGES[change](path)
    with pytest.raises(HeadscopeError) as caught:
        read_vectors(path, ["the"], sha256=options.vectors_hash)
    assert printable(str(caught.value))
    if change in ("truncated", "appended to", "replaced", "overwritten with the time kept"):
        assert str(caught.value) == (
            f"{path} changed while it was read: it is not the file that the run began with; {AGAIN}"
        )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")


@pytest.mark.parametrize("change", ["appended to", "deleted"])
def test_report_writes_no_number_of_a_changed_text(change, cli, model, tmp_path, monkeypatch):
    path, out = tmp_path / "a.txt", tmp_path / "out"
    path.write_text(TEXT)
    whole = TextCorpus.digest

    def digest_then_change(self):
        found = whole(self)
        CHANGES[change](path)
        return found

    monkeypatch.setattr(TextCorpus, "digest", digest_then_change)
    code, _, err = cli("report", "--model", model, "--text", path, "--out", out, "--quiet")
    assert code == 2
    assert err.startswith("headscope: a.txt changed while it was read: ")
    assert err.endswith(f"; {AGAIN}\n")
    assert not list(out.glob("tables/*"))


def test_a_change_during_a_scan_keeps_the_stages_before_it(cli, model, tmp_path, monkeypatch):
    """Statistics were measured on the hashed text; stages that read the text again, controls first, find a change."""
    import headscope.running.writing as writing

    path, out = tmp_path / "a.txt", tmp_path / "out"
    path.write_text(TEXT)
    measure = writing.measure_stage

    def measure_then_change(stage, *arguments):
        found = measure(stage, *arguments)
        if stage.name == "stats":
            CHANGES["appended to"](path)
        return found

    monkeypatch.setattr(writing, "measure_stage", measure_then_change)
    headed = save_with_head(tmp_path / "headed", model, AutoModelForMaskedLM)
    code, _, err = cli("report", "--model", headed, "--text", path, "--loss", "mlm", "--out", out, "--quiet")
    assert code == 2
    assert "changed while it was read" in err
    manifest = json.loads((out / "manifest.json").read_text())
    assert list(manifest["stages"]) == ["stats", "norms"]
    assert not manifest["complete"]


def test_extract_leaves_nothing(cli, model, tmp_path, monkeypatch):
    path, out = tmp_path / "a.txt", tmp_path / "maps"
    path.write_text(TEXT)
    whole = TextCorpus.digest

    def digest_then_change(self):
        found = whole(self)
        CHANGES["replaced"](path)
        return found

    monkeypatch.setattr(TextCorpus, "digest", digest_then_change)
    code, _, err = cli("extract", "--model", model, "--text", path, "--out", out)
    assert code == 2
    assert "changed while it was read: document 1 is another than before" in err
    assert not out.exists()


def test_train_stops(cli, model, tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text(TEXT)
    lines = TrainingText.lines
    seen = []

    def lines_then_change(self):
        yield from lines(self)
        if not seen:
            seen.append(CHANGES["appended to"](path))

    monkeypatch.setattr(TrainingText, "lines", lines_then_change)
    code, _, err = cli("train", "--size", "1x1x8", "--vocabulary", "60", "--text", path, "--out", tmp_path / "m")
    assert code == 2
    assert "a.txt changed while it was read: " in err
