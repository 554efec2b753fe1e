"""What probes are trained on is not what they are measured on: refused by content, counted by sentence."""

import gzip
import json

import pytest

import headscope as hs
from headscope.analyses.probes.tree_sentences import tree_sentences
from headscope.corpora.trees.treebank import read_treebank, treebank_text
from headscope.errors import HeadscopeError, OptionError
from headscope.scans.prepare.annotated import AnnotatedCorpus
from headscope.scans.prepare.run_corpora import check_overlap, overlap_facts, overlap_line, shared_files
from support.demo_treebank import demo_conllu, demo_documents


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two treebanks; the first under other names, zipped, in other formats and with other trees, and in parts."""
    folder = tmp_path_factory.mktemp("overlap")
    for name, begin, end in (("first", 1, 6), ("second", 101, 104), ("head", 1, 2), ("tail", 3, 6)):
        (folder / f"{name}.conllu").write_text(demo_conllu(begin, end), encoding="utf-8")
    first = demo_documents(1, 6)
    text = (folder / "first.conllu").read_text()
    (folder / "copy.conllu").write_text(text)
    (folder / "zipped.conllu.gz").write_bytes(gzip.compress(text.encode()))
    for form in (".txt", ".json"):
        (folder / f"other{form}").write_text("".join(treebank_text(first, form=form)))
    entries = json.loads((folder / "other.json").read_text())
    flat = [{**each, "heads": [0] + [1] * (len(each["words"]) - 1)} for each in entries]
    (folder / "flat.json").write_text(json.dumps(flat))
    return folder


def corpus(folder, *names):
    made = AnnotatedCorpus.treebank(tuple(str(folder / name) for name in names))
    made.digest()
    return made


@pytest.mark.parametrize(
    ("train", "evaluated", "pair"),
    [
        *(
            (["first.conllu"], [name], ("first.conllu", name))
            for name in ("copy.conllu", "zipped.conllu.gz", "other.txt", "other.json", "flat.json")
        ),
        (["second.conllu", "copy.conllu"], ["first.conllu"], ("copy.conllu", "first.conllu")),
        (["first.conllu"], ["second.conllu", "copy.conllu"], ("first.conllu", "copy.conllu")),
        (["second.conllu", "first.conllu"], ["tail.conllu", "copy.conllu"], ("first.conllu", "copy.conllu")),
        (["first.conllu"], ["head.conllu", "tail.conllu"], ("first.conllu", None)),  # the files together
    ],
)
def test_the_same_sentences_are_refused_whatever_holds_them(folder, train, evaluated, pair):
    ours, theirs = corpus(folder, *train), corpus(folder, *evaluated)
    names = tuple("head.conllu, tail.conllu" if name is None else str(folder / name) for name in pair)
    assert shared_files(ours.files, theirs.files) == [names]
    with pytest.raises(OptionError) as refused:
        check_overlap(ours.files, theirs.files)
    assert str(refused.value) == (
        f"--treebank-train and --treebank hold the same sentences ({names[0]} and {names[1]}): probes would be "
        "measured on their training data; give one of the two other files, or --allow-overlap to measure them "
        "all the same"
    )


def test_the_same_file_is_named_once(folder):
    with pytest.raises(OptionError, match=r"first\.conllu, in both\): "):
        check_overlap(corpus(folder, "first.conllu").files, corpus(folder, "first.conllu").files)


def test_a_part_of_a_file_is_no_whole_one_and_is_counted(folder):
    train, evaluated = corpus(folder, "first.conllu"), corpus(folder, "second.conllu", "tail.conllu")
    check_overlap(train.files, evaluated.files)
    ours, theirs = ([s.words for s in tree_sentences(each.read())] for each in (train, evaluated))
    facts = overlap_facts(ours, theirs, shared_files(train.files, evaluated.files))
    assert facts["sentences"] == sum(ours.count(words) > 0 for words in theirs)
    tail = list(read_treebank(folder / "tail.conllu"))
    assert sum(len(d.sentences) for d in tail) <= facts["sentences"] < len(theirs)
    assert facts["files"] == []


def sentences(*lines):
    return [tuple(line.split()) for line in lines]


def test_sentences_are_counted_among_those_that_are_measured():
    train = sentences("Yes .", "She saw it .", "She saw it .", "No one came .")
    dev = sentences("Yes .", "Yes .", "yes .", "She saw it . .", "He left us all then .")
    facts = overlap_facts(train, dev, [])
    assert facts == {"sentences": 2, "share": 2 / 5, "words": 4, "words_share": 4 / 17, "files": []}
    assert overlap_line(facts) == (
        "2 of the measured sentences (40.0%, 23.5% of the words) are in train too, word for word"
    )
    one = overlap_facts(train, sentences("Yes .", *["Never before ."] * 2500), [])
    assert overlap_line(one) == (
        "1 of the measured sentences (under 0.1%, under 0.1% of the words) is in train too, word for word"
    )
    assert overlap_line(overlap_facts(train, dev[2:], [])) == "no measured sentence is in train"
    assert overlap_line(overlap_facts(train, train, [("a", "b")])) == (
        "4 of the measured sentences (100.0%, 100.0% of the words) are in train too, word for word; train holds the "
        "sentences of b, which --allow-overlap let in"
    )


def test_from_python(folder, tmp_path):
    """Both are looked at before the model is: here its folder has a configuration alone."""
    (tmp_path / "no-model").mkdir()
    (tmp_path / "no-model" / "config.json").write_text("{}")
    given = {"treebank": folder / "first.conllu", "treebank_train": folder / "copy.conllu"}
    with pytest.raises(OptionError, match="hold the same sentences"):
        hs.report(tmp_path / "no-model", **given, out=tmp_path / "out")
    with pytest.raises(HeadscopeError, match="no-model"):
        hs.report(tmp_path / "no-model", **given, out=tmp_path / "out", allow_overlap=True)
