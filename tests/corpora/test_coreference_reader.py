"""Coreference corpora of several formats as one stream."""

import gzip
from pathlib import Path

import pytest

from headscope.corpora.annotation import Mention
from headscope.corpora.document import document_id
from headscope.corpora.trees.treebank import coreference_files, read_coreference
from headscope.errors import InputError
from support.shared_data import data

CONLLU = """# newdoc id = one
# global.Entity = eid-etype-head-other
1\tNothing\tnothing\tPRON\t_\t_\t2\tnsubj\t_\t_
2\thappens\thappen\tVERB\t_\t_\t0\troot\t_\t_

# newdoc id = two
# global.Entity = eid-etype-head-other
1\tAnn\tAnn\tPROPN\t_\t_\t2\tnsubj\t_\tEntity=(e1-person-1)
2\tsaw\tsee\tVERB\t_\t_\t0\troot\t_\t_
3\ther\tshe\tPRON\t_\t_\t4\tnmod:poss\t_\tEntity=(e2-animal-2(e1-person-1)
4\tdog\tdog\tNOUN\t_\t_\t2\tobj\t_\tEntity=e2)|SpaceAfter=No

"""
CONLL = """#begin document (x); part 0
x\t0\t0\tHe\t_\t_\t_\t_\t_\t_\t_\t_\t(0)
#end document
"""
GIVE = "give CoNLL-U with Entity= (.conllu), CoNLL-2012 (.conll, .gold_conll), GAP (.tsv), or a directory of them"
ENDINGS = ".conllu, .conll, .gold_conll, .v4_gold_conll, .auto_conll, .v4_auto_conll, .tsv"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "b.conllu").write_text(CONLLU)
    (tmp_path / "a.gold_conll").write_text(CONLL)
    (tmp_path / "c.tsv").write_text("not opened here\n")
    (tmp_path / "d.ids").write_text("nor here\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "e.CONLL.gz").write_bytes(gzip.compress(CONLL.replace("(x)", "(y)").encode()))
    return tmp_path


def refusal(paths) -> str:
    with pytest.raises(InputError) as refused:
        list(read_coreference(paths))
    return str(refused.value)


def test_files_are_told_by_their_endings(corpus: Path):
    files = coreference_files(corpus)
    assert files.annotated == (corpus / "a.gold_conll", corpus / "b.conllu", corpus / "sub" / "e.CONLL.gz")
    assert files.gap == (corpus / "c.tsv",)
    named = coreference_files([corpus / "c.tsv", corpus / "b.conllu"])
    assert (named.annotated, named.gap) == ((corpus / "b.conllu",), (corpus / "c.tsv",))


def test_documents_come_in_order_with_their_own_ids(corpus: Path):
    first, empty, second, third = read_coreference(corpus)
    assert first.mentions == (Mention(0, 1, "0/0"),)
    assert empty.mentions == ()  # a document without mentions, in a file with some
    assert second.mentions == (Mention(0, 1, "e1"), Mention(2, 4, "e2"), Mention(2, 3, "e1"))
    assert second.sentences[0].heads == (2, 0, 4, 2)
    assert [one.id for one in (first, empty, second, third)] == [
        *(document_id(one.content()) for one in (first, empty, second)),
        f"{first.id}-2",
    ]
    assert first.words == third.words


def test_gap_files_are_left_to_their_reader(corpus: Path):
    assert list(read_coreference(corpus / "c.tsv")) == []


def test_conllu_without_entities_is_refused(tmp_path: Path):
    path = tmp_path / "plain.conllu"
    path.write_text(CONLLU.replace("Entity", "Other"))
    assert refusal(path) == (
        f"{path} has no Entity= in its last column: expected coreference as in GUM or CorefUD; "
        "give it as a treebank, or give a file with Entity="
    )


def test_another_ending_is_refused(tmp_path: Path):
    path = tmp_path / "x.txt"
    path.write_text("text\n")
    assert refusal(path) == (
        f"{path}: expected a name that ends in {ENDINGS} (or that with .gz); rename the file by its format"
    )


def test_standard_input_is_refused():
    assert refusal("-") == f"coreference is read from files, whose endings say what they are; {GIVE}"


def test_no_path_is_refused():
    assert refusal([]) == f"no coreference file: {GIVE}"


def test_an_empty_directory_is_refused(tmp_path: Path):
    assert refusal(tmp_path) == (
        f"no coreference file in {tmp_path}: expected *.conllu, *.conll, *.gold_conll, *.v4_gold_conll, "
        "*.auto_conll, *.v4_auto_conll or *.tsv, found none; put them there or give the files by name"
    )


def test_one_document_in_two_files_is_refused(corpus: Path):
    (corpus / "z.conll").write_text(CONLL)
    assert refusal(corpus) == (
        f"{corpus}/z.conll, line 1: the document x has already begun at {corpus}/a.gold_conll, line 1; "
        "give each document once, its parts one after another"
    )


def test_a_real_treebank_has_no_entities():
    path = data("ud-english-ewt/en_ewt-ud-dev.conllu")
    assert refusal(path).startswith(f"{path} has no Entity= in its last column")


def test_litbanks_folder():
    files = coreference_files(data("litbank-coref"))
    assert (len(files.annotated), len(files.gap)) == (100, 0)
