"""Tables: each row of a text column is a document; refusals name the format of other files."""

import gzip

import pytest

from headscope.corpora.files import KINDS
from headscope.corpora.formats import TABLES, load_format
from headscope.corpora.reading import read_corpus
from headscope.errors import InputError

SENTENCES = ["The cat sat.", "It slept."]


def example(ending):
    found = load_format(TABLES, ending).example
    return found() if callable(found) else found


def lines(path, **how):
    return [document.lines for document in read_corpus(path, **how)]


def refusal(path, **how):
    with pytest.raises(InputError) as refused:
        lines(path, **how)
    return str(refused.value)


@pytest.mark.parametrize("ending", TABLES)
def test_each_row_of_a_column_is_a_document(ending, tmp_path):
    path = tmp_path / f"my{ending}"
    path.write_bytes(example(ending))
    documents = list(read_corpus(path, column="text"))
    assert [each.lines for each in documents] == [(sentence,) for sentence in SENTENCES]
    assert all(each.whole for each in documents)
    assert documents[1].origin == f"{path}, row 2"
    assert len({each.id for each in documents}) == 2


@pytest.mark.parametrize("ending", TABLES)
def test_a_table_says_which_columns_it_has(ending, tmp_path):
    path = tmp_path / f"my{ending}"
    path.write_bytes(example(ending))
    assert refusal(path) == (
        f"{path} is a table; say with --column which of its columns holds the text: it has id, text"
    )
    assert refusal(path, column="txt") == (
        f"{path} has no column 'txt'; expected the name of one of its columns after --column: it has id, text"
    )


@pytest.mark.parametrize("ending", TABLES)
def test_an_empty_table_is_told_what_was_expected(ending, tmp_path):
    path = tmp_path / f"my{ending}"
    path.write_bytes(b"")
    assert refusal(path, column="text") == f"{path} is empty: expected {load_format(TABLES, ending).expected}"


def test_a_folder_means_its_tables_where_a_column_is_said(tmp_path):
    (tmp_path / "a.csv").write_bytes(example(".csv"))
    (tmp_path / "b.txt").write_text("A dog.\n")
    assert lines(tmp_path) == [("A dog.",)]
    assert lines(tmp_path, column="text") == [*((sentence,) for sentence in SENTENCES), ("A dog.",)]


def test_commas_semicolons_quotes_and_gzip(tmp_path):
    path = tmp_path / "my.csv.gz"
    path.write_bytes(gzip.compress('\ufeffn;text\n1,5;"He said ""go""; she went"\n\n2,5;\n3,5;Yes\n'.encode()))
    assert lines(path, column="text") == [('He said "go"; she went',), ("Yes",)]


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        ("text\na,b\n", "row 1: 2 fields where the header names 1 columns; expected as many"),
        ('text\n"a\n', "unexpected end of data; expected fields parted by commas"),
        ("id,text\n1,\n", "has nothing in its column 'text'; expected a text in each row"),
        ("text,text\na,b\n", "has several columns 'text'"),
    ],
)
def test_a_broken_table_is_refused(content, fault, tmp_path):
    path = tmp_path / "my.csv"
    path.write_text(content)
    assert fault in refusal(path, column="text")


def test_a_parquet_column_of_numbers_and_a_broken_file(tmp_path):
    path = tmp_path / "my.parquet"
    path.write_bytes(example(".parquet"))
    assert "column 'id' holds int, not text" in refusal(path, column="id")
    path.write_bytes(example(".parquet")[:-20])
    assert refusal(path, column="text").startswith(f"{path} cannot be read as Parquet (")


def test_no_kind_is_refused_as_another():
    for begin, (name, _) in KINDS.items():
        assert name.split()[0] in ("a", "an")
        assert not any(begin.startswith(other) for other in KINDS if other != begin)


@pytest.mark.parametrize(
    ("begins", "what"),
    [
        (b"%PDF-1.7\n", "a PDF"),
        (b"\x89PNG\r\n\x1a\n", "an image (PNG)"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "an image (JPEG)"),
        (b"PK\x03\x04\x14", "a zip archive, or a document of an office program"),
        (b"PAR1\x15\x04", "a Parquet table"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_no_text_is_refused_by_what_it_is(begins, what, packed, tmp_path):
    path = tmp_path / "my.txt"
    content = begins + b"more of it" * 10
    path.write_bytes(gzip.compress(content) if packed else content)
    assert refusal(path).startswith(f"{path} is {what}")


def test_text_that_begins_as_a_picture_does_is_text(tmp_path):
    path = tmp_path / "my.txt"
    path.write_text("RIFF is a format.\nPAR1 is none.\n")
    assert lines(path) == [("RIFF is a format.", "PAR1 is none.")]


def test_each_line_can_be_a_document(tmp_path):
    path = tmp_path / "my.txt"
    path.write_text("One  two.\n\nThree.\nFour.\n")
    assert lines(path) == [("One two.",), ("Three.", "Four.")]
    documents = list(read_corpus(path, by_line=True))
    assert [(each.lines, each.whole, each.origin) for each in documents] == [
        (("One two.",), True, f"{path}, line 1"),
        (("Three.",), True, f"{path}, line 3"),
        (("Four.",), True, f"{path}, line 4"),
    ]
    path.write_text(" \n\n")
    assert "has only blank lines" in refusal(path, by_line=True)
