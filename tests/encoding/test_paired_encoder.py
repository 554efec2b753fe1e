"""Inputs of two models with different tokenizers: the same text, with the same numbers for the same words."""

import headscope_decoder
import headscope_minilm
import numpy as np
import pytest

from headscope.corpora.document import Document
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.encoding.paired_encoder import PairedEncoder
from headscope.encoding.segment import NO_WORD
from headscope.errors import InputError
from headscope.models.load_model import load_tokenizer


@pytest.fixture(scope="module")
def encoder():
    first, second = (Encoder(load_tokenizer(each.folder())[0]) for each in (headscope_minilm, headscope_decoder))
    return PairedEncoder(first, second, max_length=24)


def text_of(segment, tokenizer):
    """Return the text of each word's tokens, without the tokenizer's markers."""
    words = {}
    for number, word in zip(segment.ids.tolist(), segment.word_ids.tolist(), strict=True):
        if word != NO_WORD:
            words[word] = words.get(word, "") + tokenizer.decode([number]).replace("##", "").strip().lower()
    return words


LINES = ("An unquestionably odd walrus didn't sleep, it sang 3.14 songs!", "Short.")


def test_words_of_one_number_are_the_same_text(encoder):
    document = Document(id="one", lines=LINES)
    segments = list(Packer(encoder, packing="single", max_length=24).pack([document]))
    assert len(segments) == 2
    for segment in segments:
        first, second = text_of(segment, encoder.tokenizer), text_of(segment.partner, encoder.second.tokenizer)
        assert {word: first[word] for word in second} == second
        assert len(second) > len(first) / 2
        assert (segment.partner.document, segment.partner.index) == (segment.document, segment.index)


def test_given_words_keep_their_numbers(encoder):
    words = ("The", "unquestionable", "walrus", "sang")
    document = Document(id="one", lines=(), words=words)
    (segment,) = Packer(encoder, packing="single", max_length=24).pack([document])
    assert text_of(segment.partner, encoder.second.tokenizer) == dict(enumerate(map(str.lower, words)))
    assert text_of(segment, encoder.tokenizer) == dict(enumerate(map(str.lower, words)))


def test_the_second_model_reads_no_more_than_its_limit(encoder):
    document = Document(id="one", lines=("unquestionably " * 40,))
    (segment,) = Packer(encoder, packing="single", max_length=24).pack([document])
    assert len(segment) == 24
    assert len(segment.partner) <= 24
    assert np.isin(segment.partner.word_ids, [*segment.word_ids, NO_WORD]).any()


def test_text_given_as_tokens_is_refused(encoder):
    document = Document(id="one", lines=(), tokens=("[CLS]", "the", "[SEP]"), origin="a.json, entry 1")
    with pytest.raises(InputError) as refused:
        list(Packer(encoder, packing="single", max_length=24).pack([document]))
    assert str(refused.value) == (
        "a.json, entry 1: the text is given as tokens, and the models have different tokenizers; give text or words"
    )
