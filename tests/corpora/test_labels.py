"""Labels of texts: fields of documents in every format, and an error if one is missing."""

import pandas as pd
import pytest

from headscope.corpora.reading import read_corpus
from headscope.errors import InputError

TABLE = pd.DataFrame({"text": ["The cat sat.", "It slept."], "mood": ["calm", "tired"], "number": [0, 1]})
WRITERS = {
    ".csv": lambda table, path: table.to_csv(path, index=False),
    ".tsv": lambda table, path: table.to_csv(path, index=False, sep="\t"),
    ".parquet": lambda table, path: table.to_parquet(path),
    ".jsonl": lambda table, path: table.to_json(path, orient="records", lines=True),
    ".json": lambda table, path: table.to_json(path, orient="records"),
}


def written(folder, ending, table=TABLE):
    path = folder / f"my{ending}"
    WRITERS[ending](table, path)
    return path


@pytest.mark.parametrize("ending", WRITERS)
def test_a_document_keeps_its_label(ending, tmp_path):
    documents = list(read_corpus(written(tmp_path, ending), column="text", labels="mood"))
    assert [(each.lines, each.fields["mood"]) for each in documents] == [
        (("The cat sat.",), "calm"),
        (("It slept.",), "tired"),
    ]


@pytest.mark.parametrize("ending", WRITERS)
def test_a_label_may_be_a_number(ending, tmp_path):
    documents = list(read_corpus(written(tmp_path, ending), column="text", labels="number"))
    assert [str(each.fields["number"]) for each in documents] == ["0", "1"]


def test_the_same_text_with_another_label_is_another_document(tmp_path):
    ids = [
        [each.id for each in read_corpus(written(tmp_path, ".csv"), column="text", labels=name)]
        for name in ("mood", "number", None)
    ]
    assert len({each for one_reading in ids for each in one_reading}) == 6


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet"])
def test_a_table_says_which_columns_may_hold_labels(ending, tmp_path):
    path = written(tmp_path, ending)
    with pytest.raises(InputError) as refused:
        list(read_corpus(path, column="text", labels="moods"))
    assert str(refused.value) == (
        f"{path} has no column 'moods'; expected the name of one of its columns after --labels: it has text, mood, "
        "number"
    )


@pytest.mark.parametrize("ending", WRITERS)
def test_an_empty_label_is_refused(ending, tmp_path):
    path = written(tmp_path, ending, TABLE.assign(mood=["calm", None]))
    with pytest.raises(InputError) as refused:
        list(read_corpus(path, column="text", labels="mood"))
    where = f"{path}, {'entry' if ending.startswith('.json') else 'row'} 2"
    assert str(refused.value) == f"{where}: its label 'mood' is empty; fill it in, or leave the row out"


def test_text_without_labels_is_refused(tmp_path):
    path = tmp_path / "my.txt"
    path.write_text("The cat sat.\n")
    with pytest.raises(InputError) as refused:
        list(read_corpus(path, labels="mood"))
    assert str(refused.value) == (
        f"{path}, line 1: no label 'mood' (it has no fields); give a table (.csv, .tsv, .parquet) with a column of "
        "labels, or JSON entries with such a field"
    )
