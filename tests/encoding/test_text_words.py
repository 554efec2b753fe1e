"""The words of a text, found from its characters, independent of the tokenizer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

import headscope as hs
from headscope.corpora.document import Document
from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.encoding.segment import NO_WORD
from headscope.encoding.tokenizer.text_words import ACROSS, LONG, UNTRACED, piece_words, text_words
from headscope.views.snapshot_of import take_snapshot
from headscope.views.view_payload import payload
from support.slow_tokenizers import byt5, esm, sentence_piece
from support.tiny_models import shared_tiny_model
from support.tiny_tokenizers import tiny_tokenizer

WORDS = {
    "An 18th-century poet, didn't he?": ["An", "18th", "-", "century", "poet", ",", "didn't", "he", "?"],
    "cafe\u0301 nai\u0308ve \u0928\u093f": ["cafe\u0301", "nai\u0308ve", "\u0928\u093f"],
    "in the U.S. for 1,000.50 (e.g. 3.14)": ["in", "the", "U.S", ".", "for", "1,000.50", "(", "e.g", ".", "3.14", ")"],
    "l\u2019homme \u201cno!\u201d ... 'tis": ["l\u2019homme", "\u201c", "no", "!\u201d", "...", "'", "tis"],
    "a_b \u4f60\u597d \u304b\u304d \u30ab\u30ad": [
        "a",
        "_",
        "b",
        "\u4f60",
        "\u597d",
        "\u304b",
        "\u304d",
        "\u30ab\u30ad",
    ],
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 x\u00a0y": [
        "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
        "x",
        "y",
    ],
    "\U0001f469\u200d\U0001f467 ok": ["\U0001f469\u200d\U0001f467", "ok"],
    " ": [],
}


def spelled(text):
    return [text[start:end] for start, end in text_words(text).tolist()]


def test_words_by_hand():
    wrong = {text: spelled(text) for text, words in WORDS.items() if spelled(text) != words}
    assert not wrong


@given(st.text("aZ9 \u0301\u4f60'.,-_\n\u200d\U0001f469", max_size=20))
def test_every_character_but_spaces_is_in_one_word(text):
    covered = np.zeros(len(text), dtype=int)
    for start, end in text_words(text).tolist():
        covered[start:end] += 1
    assert covered.tolist() == [int(not letter.isspace()) for letter in text]


def bytes_of_a_text():
    """Return a byte-level tokenizer with one token per byte."""
    backend = Tokenizer(
        models.BPE(vocab={x: i for i, x in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}, merges=[])
    )
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend)


def bare_letters():
    """Return WordPiece of letters, which removes accents and splits at punctuation."""
    tokenizer = tiny_tokenizer("bert")
    tokenizer.backend_tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFD(), normalizers.Lowercase(), normalizers.StripAccents()]
    )
    return tokenizer


TEXT = "An 18th century poet wrote cafe\u0301 in a two-week period, didn't he?"


def words_of(tokenizer, *lines, packing="joined"):
    """Return the token ids of each word of an input, and the note."""
    (segment,) = Packer(Encoder(tokenizer), packing=packing, max_length=512).pack([Document(lines=lines)])
    ids = segment.word_ids
    assert (np.diff(ids[ids != NO_WORD]) >= 0).all()
    return [segment.ids[ids == word].tolist() for word in np.unique(ids[ids != NO_WORD])], segment.words_note


def test_tokenizers_of_all_kinds_have_the_same_words(tmp_path):
    """Compare with the words counted by hand, each of which must spell itself."""
    words = [*spelled(TEXT), "He", "slept", "."]
    tokenizers = {
        "bytes": bytes_of_a_text(),
        "ByT5": byt5(),
        "WordPiece": bare_letters(),
        "SentencePiece": sentence_piece(tmp_path, [TEXT, "He slept."]),
    }
    for name, tokenizer in tokenizers.items():
        pieces, note = words_of(tokenizer, TEXT, "He slept.")
        assert (len(pieces), note) == (len(words), ""), name
        if name in ("bytes", "ByT5"):
            assert [tokenizer.decode(ids).strip() for ids in pieces] == words, name
    pieces, _ = words_of(tiny_tokenizer("bert"), "the cat", "sat on", packing="paragraphs")
    assert len(pieces) == 4  # counted through the pair


def test_a_token_across_words_makes_them_one_and_is_noted():
    text = 'say "no" of the'
    offsets = [(0, 3), (3, 7), (7, 8), (8, 15)]  # say, space + "no, ", of the
    found = piece_words(text, offsets, special=np.zeros(4, dtype=bool))
    assert found.ids.tolist() == [0, 1, 2, 3]
    assert [text[start:end] for start, end in found.spans.tolist()] == ["say", '"no', '"', "of the"]
    assert found.note == ACROSS
    apart = piece_words(text, [(0, 3), (3, 5), (5, 7), (7, 8), (8, 11), (11, 15)], special=np.zeros(6, dtype=bool))
    assert (apart.ids.tolist(), apart.note) == ([0, 1, 2, 3, 4, 5], "")


def test_spaces_special_tokens_and_bytes_of_a_character():
    text = "a [X] \u00e9"
    offsets = [(0, 1), (1, 2), (2, 5), (5, 6), (6, 7), (6, 7)]
    found = piece_words(text, offsets, special=np.array([False, False, True, False, False, False]))
    assert found.ids.tolist() == [0, NO_WORD, NO_WORD, 4, 4, 4]
    assert found.note == ""


def test_stretches_without_spaces_and_single_letters(tmp_path):
    protein = "MKTVRQERLKSIVRILERSKEPVSGAQLAEELSVSRQVIVQDIAYLRSLGYNKALTARQQEVF"
    assert len(protein) < 64
    pieces, note = words_of(bytes_of_a_text(), protein)
    assert (len(pieces), note) == (1, "")
    pieces, note = words_of(bytes_of_a_text(), f"the {protein}AAA")
    assert ([len(each) for each in pieces], note) == ([3] + [2] + [1] * (len(protein) + 2), LONG)
    # In Thai, a mark belongs to its letter.
    pieces, note = words_of(bytes_of_a_text(), "\u0e19\u0e35\u0e48" * 22)
    assert ([len(each) for each in pieces], note) == ([9] * 22, LONG)
    # For a tokenizer of amino acids, each letter is a word, also in a short text.
    pieces, note = words_of(esm(tmp_path), "LAGV")
    assert ([len(each) for each in pieces], note) == ([1] * 4, "")


def test_attention_between_words_says_whose_they_are():
    model, tokenizer = shared_tiny_model("bert"), tiny_tokenizer("bert")
    given = {"model": model, "tokenizer": tokenizer, "level": "word"}
    found = hs.attention("The cat didn't play 18th.", **given)
    assert found.coords["query"].values.tolist() == ["[CLS]", "The", "cat", "didn't", "play", "18th", ".", "[SEP]"]
    assert "notes" not in found.attrs
    long = "ab" * 33
    assert hs.attention(f"the {long}", **given).attrs["notes"][1:] == [LONG]  # after a note on unknown tokens
    view = take_snapshot(model, f"the {long}", tokenizer=tokenizer)
    assert payload(view)["kinds"][0]["queries"]["words_note"] == LONG
    assert LONG not in view.notes
    assert LONG not in hs.attention(f"the {long}", model=model, tokenizer=tokenizer).attrs["notes"]


@pytest.mark.parametrize("generate", [1, 3])
def test_words_of_text_that_a_model_wrote(generate):
    import torch

    from support.task_models import tiny_task_model

    given = {
        "model": tiny_task_model("gpt2", dtype=torch.float32),
        "tokenizer": tiny_tokenizer("gpt2"),
        "level": "word",
    }
    found = hs.attention("the cat didn't", generate=generate, **given)
    assert found.coords["query"].values.tolist()[:2] == ["the", "cat"]


def test_tokens_that_cannot_be_traced_have_no_words():
    assert "words are not known" in UNTRACED
    from headscope.encoding.tokenizer.text_words import WordFinder

    class Nothing:
        unk_token_id = None

        def get_vocab(self):
            return {"ab": 0}

    found = WordFinder(Nothing())("ab", [0], [])
    assert (found.ids.tolist(), found.note) == ([NO_WORD], UNTRACED)
