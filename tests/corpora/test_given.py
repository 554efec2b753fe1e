"""Text given in Python: texts, file names and refused values."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from headscope.corpora.document import Document
from headscope.corpora.given import given_text
from headscope.errors import HeadscopeError


class Dataset:
    """The used part of a dataset: its columns, by name."""

    def __init__(self, **columns):
        self._columns = columns
        self.column_names = list(columns)

    def __getitem__(self, name):
        return self._columns[name]

    def __iter__(self):
        raise AssertionError("rows are not needed")

    def __len__(self):
        return len(next(iter(self._columns.values())))


def lines(found):
    assert all(isinstance(each, Document) for each in found)
    return [each.lines for each in found]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.txt").write_text("A text.")
    (tmp_path / "two words").write_text("A text.")
    return tmp_path


TEXTS = ["The cat sat.", "It slept.\nIt woke."]
EXPECTED = [("The cat sat.",), ("It slept.", "It woke.")]


@pytest.mark.parametrize(
    "given",
    [
        TEXTS,
        tuple(TEXTS),
        pd.Series(TEXTS, index=[7, 3]),
        np.array(TEXTS),
        pd.DataFrame({"text": TEXTS, "label": [0, 1]}),
        pd.DataFrame({"review": TEXTS}),
        Dataset(text=TEXTS, label=[0, 1]),
        Dataset(review=TEXTS),
        (text for text in TEXTS),
        [{"text": text, "label": 1} for text in TEXTS],
        "The cat sat.\n\nIt slept.\nIt woke.",
        [*TEXTS, " "],
    ],
    ids=lambda each: type(each).__name__,
)
def test_texts_in_memory(given):
    found = given_text(given)
    assert lines(found) == EXPECTED
    assert len({each.id for each in found}) == 2


def test_one_word_is_a_text_and_a_name_is_a_path():
    assert lines(given_text("Hello")) == [("Hello",)]
    assert given_text("my.txt") == given_text(Path("my.txt")) == ("my.txt",)
    assert given_text(["my.txt", Path("other")]) == ("my.txt", "other")
    # These are file names; reading them reports that they are missing.
    assert given_text("missing.txt") == ("missing.txt",)
    assert given_text("some/folder") == ("some/folder",)
    assert given_text("-") == ("-",)
    assert lines(given_text(pd.Series(["my.txt"]))) == [("my.txt",)]
    assert lines(given_text("two words\n")) == [("two words",)]
    assert given_text(None) == ()
    documents = given_text(TEXTS)
    assert given_text(documents) == given_text(iter(documents)) == documents


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (3, r"^text is '3'; expected a text, a list of texts, a column"),
        ([], r"^text is empty; expected a text"),
        ([" ", "\n"], r"^text holds 2 texts of blank lines only; expected a text"),
        (["my.txt", "The cat sat."], r"^text holds 'my.txt', which is a file or folder, and 'The cat sat.', which"),
        ("two words", r'^text \'two words\' is also the name of a file or folder here; give Path\("two words"\)'),
        (["a cat", None], r"^text holds nothing at place 2; expected texts; leave missing texts out first, as column"),
        (pd.Series(["a cat", float("nan")]), r"^text holds nothing at place 2; expected texts; leave missing"),
        (["a cat", 3], r"^text holds a int at place 2; expected a text, a list of texts"),
        (
            pd.DataFrame({"a": TEXTS, "b": TEXTS}),
            r"^text is a DataFrame with the columns a, b, and none is named 'text'; give the name of one, as "
            r'column="a" or text=data\["a"\]$',
        ),
        (pd.DataFrame(), r"^text is a DataFrame with the columns \(none\), and none is named 'text'; give the name"),
        ({"train": 1, "test": 2}, r"^text is a dict of train, test; choose one of them, as text\[...\]$"),
    ],
)  # fmt: skip
def test_what_is_no_text_is_refused_in_words(given, words):
    with pytest.raises(HeadscopeError, match=words):
        given_text(given)


@pytest.mark.parametrize(
    "given",
    [
        pd.DataFrame({"text": TEXTS, "label": [0, 1]}),
        pd.DataFrame({"text": TEXTS, "label": np.array([0, 1], dtype=np.int16)}, index=[7, 3]),
        Dataset(text=TEXTS, label=[0, 1]),
        [{"text": text, "label": number} for number, text in enumerate(TEXTS)],
        [Document(lines=(text,), fields={"label": number}) for number, text in enumerate(TEXTS)],
    ],
)
def test_texts_with_labels_keep_them(given):
    documents = given_text(given, labels="label")
    assert [dict(each.fields) for each in documents] == [{"label": 0}, {"label": 1}]
    assert {type(each.fields["label"]) for each in documents} == {int}
    assert len({each.id for each in documents}) == 2


def test_a_row_with_a_label_is_an_input_as_it_stands():
    documents = given_text(pd.DataFrame({"text": ["One.", " ", "Two.\n\nThree."], "is": list("abc")}), labels="is")
    assert lines(documents) == [("One.",), ("Two. Three.",)]
    assert [(each.whole, dict(each.fields), each.origin) for each in documents] == [
        (True, {"is": "a"}, "text 1"),
        (True, {"is": "c"}, "text 3"),
    ]


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        (TEXTS, "text 1, line 1: no label 'label' (it has no fields)"),
        ([Document(lines=("One.",), fields={"is": 1})], "no label 'label' (its fields are is)"),
    ],
)
def test_a_text_without_a_label_is_refused(given, fault):
    with pytest.raises(HeadscopeError) as refused:
        given_text(given, labels="label")
    remedy = "give a table (.csv, .tsv, .parquet) with a column of labels, or JSON entries with such a field"
    assert str(refused.value).endswith(f"{fault}; {remedy}")


def test_a_text_with_an_empty_label_is_refused():
    refusals = set()
    for column in (["pos", None], ["pos", ""], [1.0, float("nan")], pd.array([1, None], dtype="Int64")):
        with pytest.raises(HeadscopeError) as refused:
            given_text(pd.DataFrame({"text": TEXTS, "label": column}), labels="label")
        refusals.add(str(refused.value))
    assert refusals == {"text 2: its label 'label' is empty; fill it in, or leave the row out"}


FRAME = pd.DataFrame({"sentence": TEXTS, "label": [0, 1]})


@pytest.mark.parametrize("given", [FRAME, Dataset(sentence=TEXTS, label=[0, 1]), FRAME.to_dict("records")])
def test_the_column_of_a_table_is_named(given):
    assert lines(given_text(given, column="sentence")) == EXPECTED
    labeled = given_text(given, column="sentence", labels="label")
    assert [dict(each.fields) for each in labeled] == [{"label": 0}, {"label": 1}]


@pytest.mark.parametrize(
    ("named", "fault"),
    [
        ({"column": "text"}, '\'text\'; give the name of one, as column="sentence" or text=data["sentence"]'),
        ({"column": "sentence", "labels": "lable"}, "'lable'; give the name of one, as labels=\"sentence\""),
    ],
)
def test_a_column_that_a_table_does_not_have_is_refused(named, fault):
    with pytest.raises(HeadscopeError) as refused:
        given_text(FRAME, **named)
    assert str(refused.value) == f"text is a DataFrame with the columns sentence, label, and none is named {fault}"
