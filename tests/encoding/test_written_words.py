"""Tokens of a text as written are assigned exactly to words, by the first letter of each token."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence
from headscope.encoding.document_windows import cut_windows
from headscope.encoding.encoder import Encoder
from headscope.encoding.segment import NO_WORD
from headscope.encoding.sentence_packing import SentencePacker
from headscope.encoding.tokenizer.alignment import join_words
from support.shared_data import data

TEXTS = ["the cat, the dog. and the cow, too.", "it's sat. it ran, it slept!", "吾輩は猫である。名前はまだ無い。"] * 5


@cache
def byte_level() -> Encoder:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.decoder = decoders.ByteLevel()
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    letters = pre_tokenizers.ByteLevel.alphabet()
    backend.train_from_iterator(
        TEXTS, trainers.BpeTrainer(vocab_size=330, initial_alphabet=letters, show_progress=False)
    )
    return Encoder(PreTrainedTokenizerFast(tokenizer_object=backend, pad_token="!"))


@cache
def unigram() -> Encoder:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.Unigram())
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=70, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
    backend.train_from_iterator(TEXTS, trainer)
    return Encoder(PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>"))


@cache
def word_piece() -> Encoder:
    from headscope.models.load_model import load_tokenizer

    return Encoder(load_tokenizer()[0])


ENCODERS = (byte_level, unigram, word_piece)


def check_alignment(encoder, words, spaces):
    """Compare with a plain loop over letters: the word of each letter, and the word of the token that covers it."""
    text, spans = join_words(words, spaces)
    pieces, alignment = encoder.piece_words(words, spaces)
    (whole,) = encoder.pieces([text])
    assert pieces.ids == whole.ids  # the model reads the text as written
    owner = {place: word for word, (start, end) in reversed([*enumerate(spans)]) for place in range(start, end)}
    covered = {word: set() for word in range(len(words))}
    for (start, end), word in zip(pieces.offsets, alignment.word_ids.tolist()):
        letters = [place for place in range(start, end) if place in owner and not text[place].isspace()]
        if letters:
            assert word == owner[letters[0]]
        for place in letters:
            covered[owner[place]].add(word)
    for word in range(len(words)):
        if word in alignment.dropped:
            assert not covered[word]
        elif word in alignment.merged:
            assert word not in covered[word]
            assert words[word] or word not in alignment.word_ids
        else:
            assert word in covered[word]
    assert set(alignment.word_ids.tolist()) - {NO_WORD} == set(range(len(words))) - {
        *alignment.dropped,
        *alignment.merged,
    }


WORDS = st.sampled_from(["", "the", "cat", ",", ".", "it", "'s", "猫", "で", "。", "é", "…", "2", "a b", "!", '"'])


@pytest.mark.parametrize("encoder", ENCODERS)
@given(st.lists(st.tuples(WORDS, st.booleans()), min_size=1, max_size=10))
def test_each_word_has_exactly_the_pieces_of_its_letters(encoder, row):
    words, spaces = zip(*row)
    check_alignment(encoder(), words, spaces)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ud-english-ewt/en_ewt-ud-dev.conllu", "ud-french-gsd/fr_gsd-ud-dev.conllu"])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_treebanks_are_aligned_on_their_text(encoder, name):
    from headscope.corpora.trees.treebank import read_treebank

    seen = 0
    for document in read_treebank([data(name)]):
        for sentence in document.sentences:
            check_alignment(encoder(), sentence.forms, sentence.spaces)
            seen += 1
        if seen > 300:
            return


def sentence(words, spaces, **more):
    heads = (0, *(1,) * (len(words) - 1))
    relations = ("root", *("dep",) * (len(words) - 1))
    return AnnotatedSentence(words=words, spaces=spaces, heads=heads, relations=relations, **more)


JAPANESE = sentence(("吾輩", "は", "猫", "で", "ある", "。"), (False,) * 6)


def test_languages_without_spaces_are_read_without():
    packed = {}
    for name, spaces in (("written", JAPANESE.spaces), ("words", ())):
        packer = SentencePacker(byte_level(), max_length=80)
        document = AnnotatedDocument(id="d", sentences=(sentence(JAPANESE.words, spaces),))
        (packed[name],) = packer.pack([document])
    assert len(packed["written"]) < len(packed["words"])
    tokens = byte_level().tokenizer.decode(packed["written"].ids.tolist())
    assert tokens == "吾輩は猫である。"


def test_words_in_a_random_order_are_apart_where_the_language_has_spaces():
    from random import Random

    from headscope.encoding.sentence_packing import shuffled

    assert shuffled(JAPANESE, Random(0)).spaces == JAPANESE.spaces
    english = sentence(("Hi", ",", "you", "!"), (False, True, False, True))
    assert shuffled(english, Random(0)).spaces == ()
    assert shuffled(sentence(("Hi",), (True,)), Random(0)).words == ("Hi",)


def test_windows_of_documents_are_cut_from_the_text_as_it_is_written():
    sentences = (sentence(("the", "cat", "."), (True, False, True)), JAPANESE) * 2
    document = AnnotatedDocument(id="d", sentences=sentences)
    encoder = byte_level()
    text = join_words(document.words, document.spaces)[0]
    (whole,) = cut_windows(document, encoder, max_length=200)
    assert encoder.tokenizer.decode(whole.segment.ids.tolist()) == text
    parts = list(cut_windows(document, encoder, max_length=4))
    assert len(parts) > 2
    for window in parts:
        own = join_words(document.words[window.start : window.end], document.spaces[window.start : window.end])[0]
        assert encoder.tokenizer.decode(window.segment.ids.tolist()) == own
    assert parts[-1].end == len(document.words)


DU = sentence(
    ("il", "parle", "de", "le", "chat"), (True, True, False, True, False), written=("il", "parle", "du", "", "chat")
)


def test_a_multi_word_token_is_read_as_it_is_written():
    packer = SentencePacker(byte_level(), max_length=80)
    (segment,) = packer.pack([AnnotatedDocument(id="d", sentences=(DU,))])
    assert byte_level().tokenizer.decode(segment.ids.tolist()) == "il parle du chat"
    of_each = [
        byte_level().tokenizer.decode(segment.ids[segment.word_ids == word].tolist()).strip() for word in range(5)
    ]
    assert of_each == ["il", "parle", "du", "", "chat"]
    assert segment.words == DU.words
    assert segment.fields["heads"] == list(DU.heads)
    assert segment.shared == (3,)
    counts = packer.counts
    assert (counts.words, counts.words_shared, counts.words_merged, counts.words_dropped) == (5, 1, 0, 0)


def test_windows_begin_before_a_multi_word_token_or_behind_it():
    document = AnnotatedDocument(id="d", sentences=(DU, DU))
    encoder = byte_level()
    text = join_words(document.forms, document.spaces)[0]
    assert text == "il parle du chatil parle du chat"
    for longest in range(6, 20):
        windows = list(cut_windows(document, encoder, max_length=longest))
        parts = [encoder.tokenizer.decode(window.segment.ids.tolist()) for window in windows]
        assert "".join(parts).replace(" ", "") == text.replace(" ", ""), longest
        assert windows[-1].end == len(document.words)


def test_words_apart_or_in_a_random_order_are_the_syntactic_ones():
    from random import Random

    from headscope.encoding.sentence_packing import shuffled
    from headscope.scans.prepare.annotated import all_apart

    document = AnnotatedDocument(sentences=(DU,))
    (apart,) = all_apart([document])
    assert join_words(apart.forms, apart.spaces)[0] == "il parle de le chat"
    assert sorted(shuffled(DU, Random(0)).forms) == sorted(DU.words)
    # The written text is part of a document's identity.
    assert document.id != AnnotatedDocument(sentences=(sentence(DU.words, DU.spaces),)).id
