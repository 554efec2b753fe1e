"""Keeping the case of the input, for each way in which tokenizers lose it."""

import pytest
from tokenizers import Tokenizer, models, normalizers
from transformers import PreTrainedTokenizerFast

from headscope.encoding.tokenizer.spelling import keep_case

VOCABULARY = {"a": 0, "A": 1, "é": 2, "É": 3, "e": 4, "?": 5}


def tokenizer(normalizer):
    backend = Tokenizer(models.WordLevel(VOCABULARY, unk_token="?"))
    if normalizer is not None:
        backend.normalizer = normalizer
    return PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="?")


@pytest.mark.parametrize(
    ("normalizer", "before", "after"),
    [
        (normalizers.BertNormalizer(lowercase=True), ["a", "e"], ["A", "É"]),
        (normalizers.Lowercase(), ["a", "é"], ["A", "É"]),
        (normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()]), ["a", "é"], ["A", "É"]),
        # Another step of the sequence that takes accents off is no matter of case.
        (
            normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase()]),
            ["a", "e"],
            ["A", "?"],
        ),
    ],
)
def test_lower_casing_is_left_out(normalizer, before, after):
    original = tokenizer(normalizer)
    cased = keep_case(original)
    assert [cased.tokenize(text)[0] for text in ("A", "É")] == after
    assert [original.tokenize(text)[0] for text in ("A", "É")] == before  # the user's own is not changed


@pytest.mark.parametrize("normalizer", [None, normalizers.NFC(), normalizers.BertNormalizer(lowercase=False)])
def test_a_tokenizer_that_keeps_case_comes_back_as_it_was(normalizer):
    original = tokenizer(normalizer)
    assert keep_case(original) is original


def test_a_slow_tokenizer_comes_back_as_it_was():
    slow = object()
    assert keep_case(slow) is slow
