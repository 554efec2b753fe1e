"""The characters of each token, found by spelling."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers
from transformers import PreTrainedTokenizerFast

from headscope.encoding.tokenizer.spelling import keep_case, spelled, without_marks

LETTERS = "abé語Ωﬁİ…\u00a0 \u3000,."


@st.composite
def cut_texts(draw):
    text = draw(st.text(LETTERS, max_size=20))
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=8)))
    bounds = [0, *(cut for cut in cuts if cut < len(text)), len(text)]
    return text, [(start, end) for start, end in pairwise(bounds) if start < end]


@given(cut_texts())
def test_pieces_that_spell_a_text_cover_what_they_spell(cut):
    text, spans = cut
    found = spelled(text, [text[start:end] for start, end in spans])
    assert found is not None
    for (start, end), (first, last) in zip(spans, found):
        letters = [place for place in range(start, end) if not text[place].isspace()]
        if letters:
            assert (first, last) == (letters[0], letters[-1] + 1)


@given(cut_texts(), st.data())
def test_one_unknown_piece_covers_what_the_others_leave(cut, data):
    text, spans = cut
    solid = [number for number, (start, end) in enumerate(spans) if text[start:end].strip()]
    if not solid:
        return
    hidden = data.draw(st.sampled_from(solid))
    pieces = [None if number == hidden else text[s:e] for number, (s, e) in enumerate(spans)]
    found = spelled(text, pieces)
    assert found is not None
    start, end = spans[hidden]
    letters = [place for place in range(start, end) if not text[place].isspace()]
    assert found[hidden] == (letters[0], letters[-1] + 1)


@given(st.text(LETTERS, min_size=1, max_size=20))
def test_bytes_cover_the_letter_that_they_are_of(text):
    """ByT5 names each byte by the character with its number."""
    found = spelled(text, [chr(byte) for byte in text.encode()])
    owners = [place for place, letter in enumerate(text) for _ in letter.encode()]
    assert found is not None
    for place, span in zip(owners, found):
        if not text[place].isspace():
            assert span == (place, place + 1)


@pytest.mark.parametrize(
    ("text", "pieces", "found"),
    [
        ("The Cat", ["the", " c", "at"], [(0, 3), (4, 5), (5, 7)]),
        ("é a", ["e", "a"], [(0, 1), (2, 3)]),  # accents removed, as BERT does
        ("ﬁn…", ["fi", "n", ".", "..."[:2]], [(0, 1), (1, 2), (2, 3), (2, 3)]),  # compatibility forms
        (" a", [" ", "a"], [(0, 1), (1, 2)]),
        ("a", [" ", "a"], [(0, 1), (0, 1)]),  # a mark alone belongs to the next token
        ("ab", ["a"], None),
        ("ab", ["b", "a"], None),
        ("a?b?c", ["a", None, "b", None, "c"], None),  # two unknown tokens could lie anywhere
        ("ab", ["a", None, "b"], None),  # no character remains for it
    ],
)
def test_what_is_found_and_what_is_not(text, pieces, found):
    assert spelled(text, pieces) == found


def test_an_accent_by_itself_is_not_placed():
    """It would count as white space, which belongs to the next token."""
    accents = unicodedata.normalize("NFD", "éa")
    assert spelled("éa", list(accents)) is None


@pytest.mark.parametrize(
    ("vocabulary", "token", "read"),
    [
        (["the", "##s", "##ing", "a"], "##ing", "ing"),
        (["th@@", "e", "a"], "th@@", "th"),
        (["the</w>", "th", "e</w>"], "e</w>", "e"),
        (["\u2581the", "s"], "\u2581the", " the"),
        (["a", "##"], "##", "##"),
    ],
)
def test_marks_are_told_from_the_vocabulary(vocabulary, token, read):
    assert without_marks(vocabulary)(token) == read


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
        # A step that removes accents does not change the case.
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
    assert [original.tokenize(text)[0] for text in ("A", "É")] == before  # the user's own tokenizer is unchanged


@pytest.mark.parametrize("normalizer", [None, normalizers.NFC(), normalizers.BertNormalizer(lowercase=False)])
def test_a_tokenizer_that_keeps_case_comes_back_as_it_was(normalizer):
    original = tokenizer(normalizer)
    assert keep_case(original) is original


def test_a_slow_tokenizer_comes_back_as_it_was():
    slow = object()
    assert keep_case(slow) is slow
