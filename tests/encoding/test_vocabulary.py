"""Classes of tokens, for made-up tokenizers of every kind."""

import unicodedata

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.encoding.tokenizer.token_names import piece_bytes, piece_text
from headscope.encoding.vocabulary import KeyClass, Vocabulary, punctuation_class, read_vocabulary
from headscope.installing import EMBEDDED_MODELS
from headscope.models.load_model import load_tokenizer

TEXTS = ["the cat, the dog. and the cow, too.", "it sat. it ran, it slept."] * 5


def byte_level(*, template: bool = False) -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    special = ["<|end|>", "<s>", "</s>"]
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    backend.train_from_iterator(TEXTS, trainer)
    if template:
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 1), ("</s>", 2)]
        )
        return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>")
    return PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<|end|>", eos_token="<|end|>")


def sentence_piece() -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.train_from_iterator(
        TEXTS, trainers.UnigramTrainer(vocab_size=60, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>")
    )
    backend.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")


def test_a_gpt2_type_tokenizer_has_neither_cls_nor_sep():
    """The tokenizer defines bos and eos but adds neither, so a decoder's first position takes the role of [CLS]."""
    vocabulary = read_vocabulary(byte_level())
    assert not vocabulary.has_cls
    assert vocabulary.cls_name == "first token"
    assert vocabulary.sep_name is None
    ids = np.array(byte_level()("the cat, it.")["input_ids"])
    assert (vocabulary.of(ids) == KeyClass.CLS).sum() == 0
    assert vocabulary.of(ids, decoder=True)[0] == KeyClass.CLS
    assert (vocabulary.of(ids) == KeyClass.PERIOD_COMMA).sum() == 2


def test_bos_and_eos_that_are_added_count():
    vocabulary = read_vocabulary(byte_level(template=True))
    assert (vocabulary.cls_name, vocabulary.sep_name) == ("<s>", "</s>")
    ids = np.array(byte_level(template=True)("the cat", "it ran.")["input_ids"])
    classes = vocabulary.of(ids)
    assert classes[0] == KeyClass.CLS
    assert (classes == KeyClass.SEP).sum() == 3


def test_a_t5_type_tokenizer_has_a_separator_only():
    tokenizer = sentence_piece()
    vocabulary = read_vocabulary(tokenizer)
    assert (vocabulary.has_cls, vocabulary.sep_name) == (False, "</s>")
    ids = np.array(tokenizer("it sat.")["input_ids"])
    assert vocabulary.of(ids)[-1] == KeyClass.SEP


def test_punctuation_is_the_bare_piece_with_or_without_its_word_start_mark():
    tokenizer = byte_level()
    tokenizer.add_tokens(["\u0120.", "\u2581,", "...", "##.", ".,", "a."])
    vocabulary = read_vocabulary(tokenizer)
    named = {
        str(token)
        for token in tokenizer.get_vocab()
        if vocabulary.classes[tokenizer.convert_tokens_to_ids(token)] == KeyClass.PERIOD_COMMA
    }
    assert named == {".", ",", "\u0120.", "\u2581,"}


@pytest.mark.parametrize("make", [byte_level, sentence_piece])
def test_a_users_tokenizer_stays_as_it_is(make):
    tokenizer = make()
    before = tokenizer.backend_tokenizer.to_str()
    encoder = Encoder(tokenizer)
    list(Packer(encoder, packing="single", max_length=6).pack([]))
    assert tokenizer.backend_tokenizer.to_str() == before


def test_ids_beyond_the_tokenizers_are_other():
    """The embeddings of T5, Pythia and Qwen have more rows than their tokenizers have ids."""
    vocabulary = Vocabulary(
        classes=np.array([KeyClass.CLS, KeyClass.SEP], dtype=np.uint8),
        has_cls=True,
        cls_name="[CLS]",
        sep_name="[SEP]",
        pad_id=0,
    )
    assert vocabulary.of(np.array([0, 1, 2, 90])).tolist() == [
        KeyClass.CLS,
        KeyClass.SEP,
        KeyClass.OTHER,
        KeyClass.OTHER,
    ]


def test_punctuation_of_any_kind_is_a_class_beside_periods_and_commas():
    texts = ["wait - no! (he said) 「はい」。", "it's, ... fine; $5 + 2"] * 5
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=420, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    backend.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
    classes = read_vocabulary(tokenizer).classes

    def of(text):
        numbers = tokenizer(text, add_special_tokens=False)["input_ids"]
        return max(classes[number] for number in numbers) if len(numbers) == 1 else None

    assert {of(mark) for mark in (".", ",")} == {KeyClass.PERIOD_COMMA}
    assert {of(mark) for mark in ("!", "-", "(", ";", "'")} == {KeyClass.OTHER_PUNCTUATION}
    assert {of(text) for text in ("$", "+", "a", "2")} == {KeyClass.OTHER}
    assert KeyClass.OTHER_PUNCTUATION in {classes[i] for i in tokenizer("「はい」。")["input_ids"]}
    # All characters of such a token are in Unicode's categories P.
    for name, number in tokenizer.get_vocab().items():
        text = tokenizer.decode([number]).strip()
        if "\ufffd" not in text and text not in (".", ",") and not name.startswith("\u0120\u0120"):
            expected = bool(text) and all(unicodedata.category(letter).startswith("P") for letter in text)
            assert (classes[number] == KeyClass.OTHER_PUNCTUATION) == expected, name


def test_a_token_is_classed_by_its_text_without_marks():
    for vocabulary, expected in (
        (["##-", "##", "##ing", "[SEP]", "."], "OTHER_PUNCTUATION OTHER_PUNCTUATION OTHER OTHER PERIOD_COMMA"),
        (["▁!?", "▁.", "▁", "<0xC2>", "<0xAB>"], "OTHER_PUNCTUATION PERIOD_COMMA OTHER OTHER OTHER"),
        (
            ["Ġ!?", "Ġ.", "Ċ", "Â", "«", "Â«", ""],
            "OTHER_PUNCTUATION PERIOD_COMMA OTHER OTHER OTHER OTHER_PUNCTUATION OTHER",
        ),
        (["«", "é", "."], "OTHER_PUNCTUATION OTHER PERIOD_COMMA"),
    ):
        texts = map(piece_text, piece_bytes(vocabulary))
        assert " ".join(punctuation_class(text).name for text in texts) == expected, vocabulary


@pytest.mark.parametrize("model", EMBEDDED_MODELS)
def test_what_is_told_of_a_whole_vocabulary_is_what_a_look_at_each_piece_tells(model):
    tokenizer, *_ = load_tokenizer(model)
    classes = read_vocabulary(tokenizer).classes
    special = set(tokenizer.all_special_ids)
    for piece, number in tokenizer.get_vocab().items():
        text = tokenizer.decode([number]).removeprefix("##") or "##"
        assert number in special or classes[number] == punctuation_class(text), piece
