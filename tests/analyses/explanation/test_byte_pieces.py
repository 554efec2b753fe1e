"""Tokens that are pieces of a character: case, length and digits are those of the characters that a token completes."""

from itertools import pairwise

import numpy as np
import pytest
from transformers import ByT5Tokenizer

from headscope.analyses.behaviors.catalog import Delimiter, delimiters_of_tokenizer
from headscope.analyses.explanation.catalog import FEATURES
from headscope.analyses.explanation.row_context import RowContext, Tokens
from headscope.analyses.explanation.vocabulary_facts import VocabularyFacts
from headscope.encoding.vocabulary import KeyClass, read_vocabulary
from headscope.models.load_model import load_tokenizer

TEXT = "Äpfel öl čaj Ōtsu Ünal naïve São 日本 Łódź 😀x ٣ 7 Ελλάδα… «ja» Été\nA"


def tokenizer_of(name):
    return ByT5Tokenizer() if name == "byt5" else load_tokenizer("headscope-decoder")[0]


def completed_by_each(tokenizer, ids):
    """The characters that each token adds to what can be read so far, by the tokenizer's own decoding."""
    read = [tokenizer.decode(ids[:end]).rstrip("\ufffd") for end in range(len(ids) + 1)]
    assert all(after.startswith(before) for before, after in pairwise(read))
    return [after.removeprefix(before) for before, after in pairwise(read)]


def feature_values(name, tokenizer, ids):
    tokens = Tokens(ids=np.array(ids), classes=np.zeros(len(ids), np.int64), word_ids=np.zeros(len(ids), np.int64))
    context = RowContext(
        rows=np.array([0]),
        visible=np.ones((1, len(ids)), dtype=bool),
        queries=tokens,
        keys=tokens,
        vocabulary=VocabularyFacts.of_model(None, tokenizer),
    )
    return FEATURES[name].values(context)


@pytest.mark.parametrize("name", ["headscope-decoder", "byt5"])
def test_case_length_and_digits_are_those_of_the_characters_that_a_token_completes(name):
    tokenizer = tokenizer_of(name)
    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    texts = [text.strip() or text for text in completed_by_each(tokenizer, ids)]
    assert "" in texts  # the text has characters that are cut
    assert {"Ä", "Ō", "Ł"} & {text[:1] for text in texts}
    for feature, of_text in (
        ("capital", lambda text: text[:1].isupper()),
        ("digit", lambda text: text[:1].isdigit()),
        ("length", lambda text: np.log1p(len(text))),
    ):
        expected = [float(of_text(text)) for text in texts]
        np.testing.assert_allclose(feature_values(feature, tokenizer, ids), expected, err_msg=feature)


@pytest.mark.parametrize("name", ["headscope-decoder", "byt5"])
def test_a_piece_of_a_character_is_no_punctuation_and_no_quotation_mark(name):
    """Byte AB is named «, and byte A1 ¡, whatever character it is a piece of."""
    tokenizer = tokenizer_of(name)
    classes, delimiters = read_vocabulary(tokenizer).classes, delimiters_of_tokenizer(tokenizer)
    special = set(tokenizer.all_special_ids)
    alone = {token: tokenizer.decode([token]) for token in tokenizer.get_vocab().values() if token not in special}
    pieces = [token for token, text in alone.items() if not text or "\ufffd" in text]
    assert len(pieces) >= 128
    assert {int(classes[piece]) for piece in pieces} == {KeyClass.OTHER}
    assert {int(delimiters[piece]) for piece in pieces} == {Delimiter.NONE}


def test_a_space_or_line_break_of_byte_level_bpe_has_no_case():
    """Ġ and Ċ, which name them, are capital letters of Maltese and Irish."""
    facts = VocabularyFacts.of_names({0: "Ġ", 1: "Ċ", 2: "ĠThe", 3: "ĠÃ", 4: "¡", 5: "Ã¡a"})
    assert facts.texts_of([0, 1, 2, 3, 4, 5, 4, 9]) == [" ", "\n", "The", " ", "á", "áa", "", ""]


def test_names_of_bytes_and_marks_of_words_are_no_letters():
    sentencepiece = VocabularyFacts.of_names({0: "▁The", 1: "▁", 2: "<0xC3>", 3: "<0x84>", 4: "<0x0A>", 5: "s"})
    assert sentencepiece.texts_of([0, 1, 2, 3, 4, 5, 3]) == ["The", " ", "", "Ä", "\n", "s", ""]
    by_ends = VocabularyFacts.of_names({0: "low", 1: "er</w>", 2: "Ġ"})
    assert by_ends.texts_of([0, 1, 2]) == ["low", "er", "Ġ"]
    pieces = VocabularyFacts.of_names({0: "Ġ", 1: "##ing", 2: "##", 3: "é"})
    assert pieces.texts_of([0, 1, 2, 3]) == ["Ġ", "ing", "##", "é"]
