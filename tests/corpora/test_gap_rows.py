"""GAP's rows: made-up lines and the released files."""

import csv
from pathlib import Path

import pytest

from headscope.corpora.document import distinct, document_id
from headscope.corpora.mentions.gap_rows import GapRow, gap_rows, read_gap, split_words
from headscope.errors import InputError
from support.shared_data import data

HEADER = "ID\tText\tPronoun\tPronoun-offset\tA\tA-offset\tA-coref\tB\tB-offset\tB-coref\tURL"
TEXT = "Bob Suter met Alfredo Di St*fano's well-known aunt-Ann; she didn't see her."
ROW = {
    "ID": "test-1",
    "Text": TEXT,
    "Pronoun": "she",
    "Pronoun-offset": str(TEXT.index("she")),
    "A": "Alfredo Di St*fano",
    "A-offset": str(TEXT.index("Alfredo")),
    "A-coref": "FALSE",
    "B": "Ann",
    "B-offset": str(TEXT.index("Ann")),
    "B-coref": "TRUE",
    "URL": "http://en.wikipedia.org/wiki/X",
}


def line(**changes: str) -> str:
    return "\t".join({**ROW, **{name.replace("_", "-"): value for name, value in changes.items()}}.values())


def read(*lines: str, **options) -> list[GapRow]:
    return list(gap_rows(lines, name="gap.tsv", **options))


def test_a_row_in_words():
    (row,) = read(HEADER, line())
    assert row.words == (
        *("Bob", "Suter", "met", "Alfredo", "Di", "St*fano", "'s", "well-known", "aunt", "-"),
        *("Ann", ";", "she", "didn", "'t", "see", "her", "."),
    )
    assert row.words[row.pronoun] == "she"
    assert row.words[slice(*row.a)] == ("Alfredo", "Di", "St*fano")
    assert row.words[slice(*row.b)] == ("Ann",)
    assert row.truth == (False, True)
    assert row.gender == "feminine"
    assert row.name == "test-1"
    assert row.id == document_id(row.content())
    assert row.origin == "gap.tsv, line 2"


@pytest.mark.parametrize(
    ("pronoun", "gender"),
    [("He", "masculine"), ("his", "masculine"), ("him", "masculine"), ("Her", "feminine"), ("hers", "feminine")],
)
def test_the_pronoun_tells_the_gender(pronoun: str, gender: str):
    text = f"Ann and Bob : {pronoun} left"
    (row,) = read(
        HEADER, line(Text=text, Pronoun=pronoun, Pronoun_offset="14", A="Ann", A_offset="0", B="Bob", B_offset="8")
    )
    assert row.gender == gender
    assert row.words[row.pronoun] == pronoun


def test_neither_name_may_be_right():
    (row,) = read(HEADER, line(B_coref="FALSE"))
    assert row.truth == (False, False)


def test_equal_rows_are_documents_of_their_own():
    first, second = distinct(read(HEADER, line(), "", line(ID="test-2")))
    assert first.words == second.words
    assert second.id == f"{first.id}-2"
    assert second.origin == "gap.tsv, line 4"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("``Nacional'' ended.", ["``", "Nacional", "''", "ended", "."]),
        ("Dehner's (EHC) 1979-1981...", ["Dehner", "'s", "(", "EHC", ")", "1979-1981", "..."]),
        ("O'Brien said I'm", ["O", "'", "Brien", "said", "I", "'m"]),
        ("cafe\u0301 na\u00efve", ["cafe\u0301", "na\u00efve"]),
        ("?!?!", ["?", "!", "?", "!"]),
        ("", []),
    ],
)
def test_words_of_a_text(text: str, words: list[str]):
    found = split_words(text)
    assert [word for _, word in found] == words
    assert all(text.startswith(word, begin) for begin, word in found)


def test_cuts_divide_words():
    assert split_words("Annie's", cuts=[3]) == [(0, "Ann"), (3, "ie"), (5, "'s")]
    assert split_words("Ann", cuts=[0, 3]) == [(0, "Ann")]


GIVE = "give a GAP file (gap-test.tsv) or a directory of them"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (
            [line()],
            "gap.tsv, line 1: expected the header of GAP, ID Text Pronoun Pronoun-offset A A-offset A-coref B "
            f"B-offset B-coref URL between tabs, found {line().replace(chr(9), ' ')[:80]}...; {GIVE}",
        ),
        (
            ["ID\tText\tPronoun"],
            "gap.tsv, line 1: expected the header of GAP, ID Text Pronoun Pronoun-offset A A-offset A-coref B "
            f"B-offset B-coref URL between tabs, found ID Text Pronoun; {GIVE}",
        ),
        ([HEADER, ""], f"gap.tsv has no rows: expected some below the header; {GIVE}"),
        (
            [HEADER, line().rpartition("\t")[0]],
            "gap.tsv, line 2: expected 11 columns between tabs, found 10; mend the row",
        ),
        (
            [HEADER, line(), line(A_offset="15")],
            "gap.tsv, line 3: expected Alfredo Di St*fano at A-offset 15 of the text, found lfredo Di St*fano'; "
            "count characters from 0",
        ),
        (
            [HEADER, line(Pronoun_offset="999")],
            "gap.tsv, line 2: expected she at Pronoun-offset 999 of the text, found its end; count characters from 0",
        ),
        (
            [HEADER, line(B_offset="-3")],
            "gap.tsv, line 2: expected B-offset to be a number of characters, found -3; mend the row",
        ),
        ([HEADER, line(A=" ")], "gap.tsv, line 2: A is empty; fill it in or leave the row out"),
        (
            [HEADER, line(A_coref="True")],
            "gap.tsv, line 2: expected A-coref to be TRUE or FALSE, found True; mend the row",
        ),
        (
            [HEADER, line(B_coref="")],
            "gap.tsv, line 2: expected B-coref to be TRUE or FALSE, found nothing; mend the row",
        ),
        (
            [HEADER, line(A_coref="TRUE")],
            "gap.tsv, line 2: A-coref and B-coref are both TRUE; expected one at most; mend the row",
        ),
        (
            [HEADER, line(Pronoun="see", Pronoun_offset=str(TEXT.index("see")))],
            "gap.tsv, line 2: expected a pronoun among he, him, his, himself, she, her, hers, herself, found see; "
            "leave the row out",
        ),
    ],
)
def test_what_is_no_gap_is_refused(lines: list[str], message: str):
    with pytest.raises(InputError) as refused:
        read(*lines)
    assert str(refused.value) == message


def test_a_directory_of_files(tmp_path: Path):
    for name in ("b.tsv", "a.tsv"):
        (tmp_path / name).write_text(f"{HEADER}\n{line(ID=name)}\n")
    rows = list(read_gap(tmp_path))
    assert [row.name for row in rows] == ["a.tsv", "b.tsv"]
    assert rows[1].id == f"{rows[0].id}-2"


def test_the_released_test_set():
    """All offsets match: the words at them are the names, as parsed by Python's csv module."""
    path = data("gap/gap-test.tsv")
    rows = list(read_gap(path))
    assert len(rows) == 2_000
    assert sum(row.gender == "feminine" for row in rows) == 1_000
    with path.open(newline="") as stream:
        for row, raw in zip(rows, csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE), strict=True):
            assert row.words[row.pronoun] == raw["Pronoun"]
            for span, column in ((row.a, "A"), (row.b, "B")):
                assert "".join(row.words[slice(*span)]) == "".join(raw[column].split())
            assert row.truth == (raw["A-coref"] == "TRUE", raw["B-coref"] == "TRUE")
            assert "".join(row.words) == "".join(raw["Text"].split())
