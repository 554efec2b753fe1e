"""CoNLL-2012: OntoNotes' columns and LitBank's variant."""

import gzip
from pathlib import Path

import pytest

from headscope.corpora.annotation import Mention
from headscope.corpora.document import document_id
from headscope.corpora.mentions.conll2012 import conll2012_documents
from headscope.corpora.trees.treebank import read_coreference
from headscope.errors import InputError
from support.shared_data import data

NAME = "bc/cctv/00/cctv_0000"


def row(number: int, word: str, tag: str, bit: str, coreference: str, part: int = 0, *, args: int = 1) -> str:
    """Write a line as OntoNotes does, with `args` columns of predicate arguments."""
    columns = [NAME, str(part), str(number), word, tag, bit, "-", "-", "-", "Speaker#1", "*", *["*"] * args]
    return "   ".join([*columns, coreference])


ONTONOTES = [
    f"#begin document ({NAME}); part 000",
    row(0, "Mary", "NNP", "(TOP(S(NP*", "(12|(7"),
    row(1, "'s", "POS", "*", "7)"),
    row(2, "dog", "NN", "*)", "12)"),
    row(3, "saw", "VBD", "(VP*", "-"),
    row(4, "her", "PRP", "(NP*))", "(7)"),
    row(5, "/.", ".", "*))", "-"),
    "",
    row(0, "It", "PRP", "(TOP(S(NP*)", "(12)", args=0),
    row(1, "barked", "VBD", "(VP*)", "-", args=0),
    row(2, "-LRB-", "-LRB-", "*))", "-", args=0),
    "",
    "#end document",
    f"#begin document ({NAME}); part 001",
    row(0, "He", "PRP", "(TOP(S(NP*)", "(7)", 1),
    row(1, "left", "VBD", "(VP*)))", "-", 1),
    "",
    "#end document",
]
LITBANK = [
    "#begin document (105_persuasion_brat); part 0",
    "105_persuasion_brat\t0\t0\tSir\t_\t_\t_\t_\t_\t_\t_\t_\t(0",
    "105_persuasion_brat\t0\t1\tWalter\t_\t_\t_\t_\t_\t_\t_\t_\t0)",
    "105_persuasion_brat\t0\t2\tspoke\t_\t_\t_\t_\t_\t_\t_\t_\t",
    "",
    "105_persuasion_brat\t0\t0\tHe\t_\t_\t_\t_\t_\t_\t_\t_\t(0)",
    "#end document",
]


def read(lines: list[str], **options):
    return list(conll2012_documents(lines, name="f.conll", **options))


def refusal(lines: list[str], **options) -> str:
    with pytest.raises(InputError) as refused:
        read(lines, **options)
    return str(refused.value)


def test_ontonotes_with_two_parts_is_one_document():
    (document,) = read(ONTONOTES)
    first, second, third = document.sentences
    assert first.words == ("Mary", "'s", "dog", "saw", "her", ".")
    assert first.tags == ("NNP", "POS", "NN", "VBD", "PRP", ".")
    assert first.heads == (3, 3, 4, 0, 4, 4)
    assert first.relations == ("dep", "dep", "dep", "root", "dep", "dep")
    assert (first.origin, second.origin, third.origin) == ("f.conll, line 2", "f.conll, line 9", "f.conll, line 15")
    assert second.words == ("It", "barked", "(")
    assert third.words == ("He", "left")
    assert document.mentions == (
        Mention(0, 3, "000/12"),
        Mention(0, 2, "000/7"),
        Mention(4, 5, "000/7"),
        Mention(6, 7, "000/12"),
        Mention(9, 10, "001/7"),  # not the entity 7 of part 000
    )
    assert document.origin == "f.conll, line 1"
    assert document.id == document_id(document.content())


def test_litbank_with_tabs_and_nothing_in_the_last_column():
    (document,) = read(LITBANK)
    assert [sentence.words for sentence in document.sentences] == [("Sir", "Walter", "spoke"), ("He",)]
    assert all(not s.heads and not s.relations and not s.tags for s in document.sentences)
    assert document.mentions == (Mention(0, 2, "0/0"), Mention(3, 4, "0/0"))


def test_documents_of_other_names_are_others():
    other = [line.replace("cctv_0000", "cctv_0001") for line in ONTONOTES]
    first, second = read(ONTONOTES + other)
    assert first.words == second.words
    assert first.id == second.id  # the file's name does not count for the id: `distinct` numbers equal documents


def test_a_document_without_a_part_keeps_its_entities_names():
    (document,) = read(["#begin document (x)", *LITBANK[1:]])
    assert {one.entity for one in document.mentions} == {"0"}


def test_what_has_not_been_parsed_has_no_tree_and_no_tags():
    (document,) = read(
        [ONTONOTES[0], row(0, "In", "XX", "(TOP(NOPARSE*", "-"), row(1, "Rome", "XX", "*))", "(3)"), "#end document"]
    )
    assert document.sentences[0].heads == ()
    assert document.sentences[0].tags == ()
    assert document.mentions == (Mention(1, 2, "000/3"),)


def test_mentions_may_run_on_into_the_next_sentence():
    (document,) = read(
        [ONTONOTES[0], row(0, "A", "DT", "-", "(3"), "", row(0, "b", "NN", "-", "3)"), "", "#end document"]
    )
    assert document.mentions == (Mention(0, 2, "000/3"),)


def test_files_directories_and_gzip(tmp_path: Path):
    (tmp_path / "a.v4_gold_conll").write_text("\n".join(ONTONOTES) + "\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.conll.gz").write_bytes(gzip.compress("\n".join(LITBANK).encode()))
    (tmp_path / "c.ids").write_text("no corpus\n")
    first, second = read_coreference(tmp_path)
    assert first.id == document_id(first.content())
    assert second.words == ("Sir", "Walter", "spoke", "He")
    assert second.origin == f"{tmp_path}/sub/b.conll.gz, line 1"


HEAD = "#begin document (x); part 0"
GIVE = "give a CoNLL-2012 file (.conll, .gold_conll) or a directory of them"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            ["The\tDT"],
            "f.conll, line 1: expected #begin document (NAME); part 000 before the first word, found The\\tDT; " + GIVE,
        ),
        (
            [*LITBANK, LITBANK[1]],
            "f.conll, line 8: expected #begin document (NAME); part 000 before the first word, "
            r"found 105_persuasion_brat\t0\t0\tSir\t_\t_\t_\t_\t_\t_\t_\t_\t(0; " + GIVE,
        ),
        (
            ["#begin document x"],
            "f.conll, line 1: expected #begin document (NAME); part 000, found #begin document x; mend the line",
        ),
        (["", *LITBANK[:-1]], "f.conll, line 2: the document that begins here has no #end document; add the line"),
        ([*LITBANK[:-1], HEAD], "f.conll, line 1: the document that begins here has no #end document; add the line"),
        ([HEAD, "", "#end document"], "f.conll, line 1: the document that begins here has no words; leave it out"),
        (["", " "], "f.conll has no document: expected #begin document (NAME); part 000, found blank lines"),
        (
            [HEAD, "x 0 0 The DT * - - - - -", "#end document"],
            f"f.conll, line 2: expected 12 columns or more, found 11; {GIVE}",
        ),
        (
            [HEAD, row(0, "a", "DT", "*", "-"), row(1, "b", "NN", "*", "-", args=2), "#end document"],
            "f.conll, line 3: expected 13 columns, as in the sentence's first line, found 14; "
            "give every line of a sentence the same number",
        ),
        (
            [HEAD, row(0, "a", "DT", "*", "-").replace("   0   0   ", "   0   the   "), "#end document"],
            "f.conll, line 2: expected the word's number in column 3, found the; mend the columns",
        ),
        (
            [HEAD, LITBANK[1].replace("Sir", ""), "#end document"],
            "f.conll, line 2: expected a word in column 4, found nothing; fill it in",
        ),
        (
            [*ONTONOTES[:13], *ONTONOTES[:13]],
            f"f.conll, line 14: part 000 of {NAME} comes twice; number the parts of a document, or keep one",
        ),
        (
            [*ONTONOTES[:13], *LITBANK, *ONTONOTES[13:]],
            f"f.conll, line 21: the document {NAME} has already begun at f.conll, line 1; "
            "give each document once, its parts one after another",
        ),
        (
            [*LITBANK[:3], LITBANK[3] + "0", *LITBANK[4:]],
            "f.conll, line 4: expected brackets of mentions such as (1, 1) or (1), found 0; mend or remove them",
        ),
        (
            [*LITBANK[:3], LITBANK[3] + "()", *LITBANK[4:]],
            "f.conll, line 4: a bracket without an entity's id in (); write the id after the opening bracket, "
            "as in (1)",
        ),
        (
            [*ONTONOTES[:6], row(5, ".", ".", "*)", "-"), "", "#end document"],
            "f.conll, line 2: the bracket (TOP of the parse is never closed; close it with )",
        ),
        (
            [*ONTONOTES[:6], row(5, ".", ".", "_", "-"), "", "#end document"],
            "f.conll, line 7: expected a part of a parse such as (S(NP*, * or *)), found _; mend it",
        ),
    ],
)
def test_what_is_no_such_file_is_refused(lines: list[str], message: str):
    assert refusal(lines) == message


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ([*LITBANK[:2], *LITBANK[3:]], "the mention (0 is never closed"),
        ([LITBANK[0], *LITBANK[2:]], "0) closes a mention that is not open"),
    ],
)
def test_a_bracket_without_its_other_half_costs_one_mention(lines: list[str], fault: str):
    (whole,), (spoilt,) = read(LITBANK), read(lines)
    assert len(spoilt.mentions) == len(whole.mentions) - 1
    name = LITBANK[0].partition("(")[2].partition(")")[0]
    assert [str(one) for one in spoilt.unmatched] == [f"f.conll, line 2 (document {name}): {fault}"]


def test_a_mention_may_not_run_from_one_part_into_the_next():
    lines = [line.replace("(7|", "").replace("   (12)", "   (12") for line in ONTONOTES]
    (document,) = read(lines)
    assert [str(one) for one in document.unmatched] == [
        f"f.conll, line 9 (document {NAME}): the mention (12 is never closed"
    ]


def test_the_same_document_in_two_files_is_refused(tmp_path: Path):
    for ending in ("auto_conll", "gold_conll"):
        (tmp_path / f"cctv.{ending}").write_text("\n".join(ONTONOTES))
    with pytest.raises(InputError) as refused:
        list(read_coreference(tmp_path))
    assert str(refused.value) == (
        f"{tmp_path}/cctv.gold_conll, line 1: the document {NAME} has already begun at "
        f"{tmp_path}/cctv.auto_conll, line 1; give each document once, its parts one after another"
    )


def test_a_directory_without_such_files_is_refused(tmp_path: Path):
    with pytest.raises(InputError) as refused:
        list(read_coreference(tmp_path))
    assert str(refused.value) == (
        f"no coreference file in {tmp_path}: expected *.conllu, *.conll, *.gold_conll, *.v4_gold_conll, *.auto_conll, "
        "*.v4_auto_conll or *.tsv, found none; put them there or give the files by name"
    )


def test_litbank_has_the_counts_of_its_readme():
    documents = list(read_coreference(data("litbank-coref")))
    assert len(documents) == 100
    assert sum(len(one.sentences) for one in documents) == 8_562
    assert sum(len(one.words) for one in documents) == 210_532
    assert sum(len(one.mentions) for one in documents) == 29_103
    assert sum(len({mention.entity for mention in one.mentions}) for one in documents) == 7_927
    assert len({one.id for one in documents}) == 100


def test_a_litbank_chapter_by_a_plain_reading():
    """The single-word mentions and the opening brackets of one file, counted line by line."""
    path = data("litbank-coref") / "conll" / "105_persuasion_brat.conll"
    (document,) = read_coreference(path)
    rows = [line.split("\t") for line in path.read_text().splitlines() if line.count("\t") == 12]
    assert document.words == tuple(columns[3] for columns in rows)
    singles = [
        (at, mark[1:-1])
        for at, columns in enumerate(rows)
        for mark in columns[-1].split("|")
        if mark.startswith("(") and mark.endswith(")")
    ]
    assert sorted((m.start, m.entity.removeprefix("0/")) for m in document.mentions if m.end - m.start == 1) == (
        sorted(singles)
    )
    assert len(document.mentions) == sum(columns[-1].count("(") for columns in rows)
