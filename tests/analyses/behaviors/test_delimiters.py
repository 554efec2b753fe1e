"""Delimiters are told by the text of tokens, however a tokenizer names them."""

import numpy as np
import pytest

from headscope.analyses.behaviors.catalog import (
    Delimiter,
    delimiter_of,
    delimiters_of,
    delimiters_of_run,
    delimiters_of_tokenizer,
)
from headscope.models.load_model import load_tokenizer
from headscope.scans.declarations.run_options import RunOptions
from headscope.scans.prepare.prepared_run import prepare_model_run
from support.model_folders import save_tiny_bert


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["\n", "\n\n", " \n", "\r\n", "\n  "], Delimiter.NEWLINE),
        ([" ", "    ", "\t", "\u00a0", "\u3000"], Delimiter.BLANK),
        (['"', " '", "“", "’", '""', "»", "`"], Delimiter.QUOTE),
        (["(", " )", "[]", "({", '["', ");", "「"], Delimiter.BRACKET),
        (["!", "?", ";", " :", "-", "—", "...", '."', "。", "/"], Delimiter.MARK),
        (["", ".", " ,", "a", "it's", "1.5", "+", "<", "$", "(a", "\n}x"], Delimiter.NONE),
    ],
)
def test_each_text_is_of_one_class(texts, expected):
    assert {text: delimiter_of(text) for text in texts} == dict.fromkeys(texts, expected)


@pytest.mark.parametrize(
    "named",
    [
        pytest.param(["Ġ(", "Ċ", "ĉ", "##", "Ġâ", "a", "Ġ"], id="byte-level"),
        pytest.param(["▁(", "<0x0A>", "<0x09>", "##", "▁â", "a", "▁"], id="sentencepiece"),
    ],
)
def test_names_are_read_as_their_tokenizer_means_them(named):
    found = delimiters_of(dict(enumerate(named)))
    expected = ["BRACKET", "NEWLINE", "BLANK", "MARK", "NONE", "NONE", "BLANK"]
    assert [Delimiter(code).name for code in found] == expected


def test_pieces_of_words_and_letters_of_other_alphabets():
    """The Maltese letter Ġ is byte-level BPE's space elsewhere; a special token is no bracket."""
    named = ["##ing", "Ġ", "##)", "[CLS]", "[unused0]", "(", "##"]
    expected = ["NONE", "NONE", "BRACKET", "NONE", "NONE", "BRACKET", "MARK"]
    found = delimiters_of(dict(enumerate(named)))
    assert [Delimiter(code).name for code in found] == expected
    special = delimiters_of({3: "(", 7: "(", 8: "##a"}, special=[7])
    np.testing.assert_array_equal(np.flatnonzero(special), [3])
    assert len(special) == 9


def test_the_embedded_tokenizer_has_no_line_break_and_knows_brackets():
    tokenizer, _ = load_tokenizer()
    found = delimiters_of_tokenizer(tokenizer)
    vocabulary = tokenizer.get_vocab()
    assert Delimiter.NEWLINE not in found
    assert found[vocabulary["("]] == Delimiter.BRACKET
    assert found[vocabulary[";"]] == Delimiter.MARK
    assert found[vocabulary['"']] == Delimiter.QUOTE
    assert all(found[vocabulary[each]] == Delimiter.NONE for each in (".", ",", "the", "[CLS]", "[SEP]"))


def test_a_runs_vocabulary_is_gone_through_once(tmp_path, monkeypatch):
    """Every stage that needs it declares its scans several times."""
    (tmp_path / "text.txt").write_text("The cat sat.\n\nIt slept.\n")
    options = {"model": str(save_tiny_bert(tmp_path / "tiny")), "packing": "single", "max_length": 32}
    runs = [prepare_model_run(RunOptions(text=(str(tmp_path / "text.txt"),), **options)) for _ in range(2)]
    found = [delimiters_of_run(run) for run in runs]
    assert delimiters_of_run(runs[0]) is found[0] is not found[1]
    np.testing.assert_array_equal(found[0], delimiters_of_tokenizer(runs[0].loaded.tokenizer))
