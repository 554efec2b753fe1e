"""`headscope convert`: treebanks from one form to another."""

import gzip
import json

import pytest

from headscope.app.cli.file_commands import TREEBANKS_IN, TREEBANKS_OUT
from headscope.corpora.trees.treebank import FORMS, SUFFIXES, read_treebank
from support.shared_data import data

CONLLU = """\
# newdoc
# text = Il va au bar.
1	Il	il	PRON	_	_	2	nsubj	_	_
2	va	aller	VERB	_	_	0	root	_	_
3-4	au	_	_	_	_	_	_	_	_
3	à	à	ADP	_	_	5	case	_	_
4	le	le	DET	_	_	5	det	_	_
5	bar	bar	NOUN	_	_	2	obl:arg	_	_

1	10 000	_	NUM	_	_	0	root	_	_
1.1	x	_	_	_	_	_	_	_	_

"""
LINES = "Il 2-nsubj\nva 0-root\nà 5-case\nle 5-det\nbar 2-obl:arg\n\n10_000 0-root\n\n"


def trees(path):
    return [
        (sentence.words, sentence.heads, sentence.relations)
        for document in read_treebank(path)
        for sentence in document.sentences
    ]


@pytest.fixture
def treebank(tmp_path):
    path = tmp_path / "a.conllu"
    path.write_text(CONLLU, encoding="utf-8")
    return path


def test_conllu_to_lines_says_what_is_lost(cli, treebank, tmp_path):
    out = tmp_path / "a.txt"
    code, said, _ = cli("convert", treebank, out)
    assert code == 0
    assert out.read_text(encoding="utf-8") == LINES
    assert said.splitlines() == [
        f"wrote {out}: 2 sentences, 6 words",
        "left out bounds of documents (each sentence is one of its own): 1",
        "left out empty nodes: 1",
        "left out multi-word tokens: 1",
        "left out sentences as they were written: 1",
        "left out tags: 6",
        "left out any lemmas, features, enhanced dependencies, comments and last column",
        "changed 1 word: white space within a word became _",
    ]


def test_lines_there_and_back_are_the_same_bytes(cli, tmp_path):
    first = tmp_path / "a.txt"
    first.write_text(LINES, encoding="utf-8")
    steps = ["b.conllu", "c.json", "d.txt", "e.json", "f.conllu", "g.txt"]
    source = first
    for name in steps:
        code, said, _ = cli("convert", source, tmp_path / name)
        lost = "left out any lemmas, features, enhanced dependencies, comments and last column\n"
        assert (code, said) == (
            0,
            f"wrote {tmp_path / name}: 2 sentences, 6 words\n" + lost * (source.suffix == ".conllu"),
        )
        source = tmp_path / name
    for name in ("d.txt", "g.txt"):
        assert (tmp_path / name).read_bytes() == first.read_bytes()
    assert (tmp_path / "b.conllu").read_bytes() == (tmp_path / "f.conllu").read_bytes()


def test_the_originals_features(cli, tmp_path):
    entry = {"words": ["a b", "\tc"], "heads": [0, 1], "relns": ["root", "x"], "id": 1, "tags": ["N", "V"]}
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(json.dumps(entry).encode()))
    code, said, _ = cli("convert", tmp_path / "a.jsonl.gz", tmp_path / "b.conllu")
    assert (code, said.splitlines()) == (
        0,
        [
            f"wrote {tmp_path / 'b.conllu'}: 1 sentence, 2 words",
            "left out other fields of entries: 2",
            "changed 1 word: white space within a word became _",
        ],
    )
    assert trees(tmp_path / "b.conllu") == [(("a b", "_c"), (0, 1), ("root", "x"))]


def test_a_real_treebank_keeps_its_trees(cli, tmp_path):
    source = data("ud-french-gsd/fr_gsd-ud-test.conllu")
    expected = trees(source)
    code, said, _ = cli("convert", source, tmp_path / "a.json")
    assert (code, said.splitlines()[0]) == (0, f"wrote {tmp_path / 'a.json'}: 416 sentences, 10,018 words")
    assert "left out multi-word tokens: 280" in said.splitlines()
    assert trees(tmp_path / "a.json") == expected
    code, said, _ = cli("convert", tmp_path / "a.json", tmp_path / "b.txt")
    # GSD writes some numbers with a space inside
    assert said.splitlines()[1:] == ["changed 2 words: white space within a word became _"]
    assert trees(tmp_path / "b.txt") == [
        (tuple("_".join(word.split()) for word in words), heads, relations) for words, heads, relations in expected
    ]


def test_the_command_knows_the_endings_without_loading_the_readers():
    assert TREEBANKS_OUT == FORMS
    assert set(TREEBANKS_IN) == set(SUFFIXES)


def test_endings_that_do_not_go_together(cli, treebank, tmp_path):
    maps = tmp_path / "maps"
    maps.mkdir()
    pickle = tmp_path / "a.pkl"
    pickle.write_bytes(b"x")
    endings = "expected IN to be a file that ends in .conllu, .txt, .json, .jsonl, or in one of these and .gz"
    cases = [
        (
            (treebank, tmp_path / "maps2"),
            f"{treebank} is a treebank by its ending, but {tmp_path / 'maps2'} is none; expected OUT to end in "
            ".conllu, .txt, .json",
        ),
        (
            (treebank, tmp_path / "b.conllu"),
            f"{treebank} and {tmp_path / 'b.conllu'} both end in .conllu; expected OUT to end in .txt or .json",
        ),
        (
            (pickle, tmp_path / "b.conllu"),
            f"{tmp_path / 'b.conllu'} would be a treebank, but {pickle} is none by its ending; {endings}",
        ),
        (
            (maps, tmp_path / "b.json"),
            f"{tmp_path / 'b.json'} would be a treebank, but {maps} is none by its ending; {endings}",
        ),
        (
            (tmp_path / "none.conllu", tmp_path / "b.txt"),
            f"no such file: {tmp_path / 'none.conllu'}; give a .conllu file, a .txt file of word head-label lines, a "
            ".json file with words, heads and relns, or a directory of them",
        ),
    ]
    for arguments, sentence in cases:
        assert cli("convert", *arguments) == (2, "", f"headscope: {sentence}\n")


def test_nothing_is_overwritten_or_left_half_done(cli, treebank, tmp_path):
    out = tmp_path / "b.txt"
    out.write_text("mine")
    refused = f"{out} is there already; give another --out, or --force to replace it"
    assert cli("convert", treebank, out) == (2, "", f"headscope: {refused}\n")
    bad = tmp_path / "bad.conllu"
    bad.write_text(CONLLU + "1	a	_	_	_	_	1	x	_	_\n")
    code, said, err = cli("convert", bad, out, "--force")
    assert (code, said) == (2, "")
    assert err == (
        f"headscope: {bad}, line 13: word 1 ('a') is its own head; expected another word, or 0 for the root\n"
    )
    assert out.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.conllu", "b.txt", "bad.conllu"]
    assert cli("convert", treebank, out, "--force")[0] == 0
    assert out.read_text(encoding="utf-8") == LINES
    folder = tmp_path / "folder.txt"
    folder.mkdir()
    assert cli("convert", treebank, folder, "--force") == (
        2,
        "",
        f"headscope: {folder} is a folder; expected a place for a file\n",
    )
