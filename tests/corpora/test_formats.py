"""Every listed format: a file with its ending can be read, also from a pipe if the content reveals the format."""

import gzip
import io
import sys

import pytest

from headscope.corpora.formats import TEXT, TREES, load_format
from headscope.corpora.reading import read_corpus
from headscope.corpora.trees.treebank import read_treebank
from headscope.errors import InputError

SENTENCES = ["The cat sat.", "It slept."]


def sentences(path):
    return [line for document in read_corpus(path) for line in document.lines]


@pytest.mark.parametrize("ending", TEXT)
@pytest.mark.parametrize("packed", [False, True])
def test_text_is_read_by_its_ending(ending, packed, tmp_path):
    path = tmp_path / f"my{ending}{'.gz' if packed else ''}"
    content = load_format(TEXT, ending).example.encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    assert sentences(path) == SENTENCES


@pytest.mark.parametrize("ending", TEXT)
def test_a_folder_means_its_files_of_every_format(ending, tmp_path):
    (tmp_path / f"my{ending}").write_text(load_format(TEXT, ending).example)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    assert sentences(tmp_path) == SENTENCES


@pytest.mark.parametrize("ending", TEXT)
def test_standard_input_says_by_its_first_character_what_it_is(ending, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(load_format(TEXT, ending).example.encode())))
    begins = [load_format(TEXT, each).begins for each in TEXT if load_format(TEXT, each).begins]
    assert len(set(begins)) == len(begins)
    if load_format(TEXT, ending).begins or ending == ".txt":
        assert sentences("-") == SENTENCES
    else:  # the content looks like plain text
        assert sentences("-")


@pytest.mark.parametrize("ending", TEXT)
def test_an_empty_file_is_told_what_its_format_expects(ending, tmp_path):
    (tmp_path / f"my{ending}").write_text("")
    with pytest.raises(InputError, match="is empty: expected") as error:
        list(read_corpus(tmp_path / f"my{ending}"))
    assert str(error.value).endswith(load_format(TEXT, ending).expected)


@pytest.mark.parametrize("ending", TREES)
def test_a_treebank_is_read_by_its_ending(ending, tmp_path):
    (tmp_path / f"my{ending}").write_text(load_format(TREES, ending).example)
    (document,) = read_treebank(tmp_path / f"my{ending}")
    (sentence,) = document.sentences
    assert (sentence.words, sentence.heads, sentence.relations) == (*(("it", "slept"), (2, 0)), ("nsubj", "root"))
