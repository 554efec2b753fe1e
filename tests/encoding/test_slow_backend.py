"""Tokenizers in Python: the same tokens as their own output, and the word of each token."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.encoding.encoder import Encoder
from headscope.encoding.line_packing import Packer
from headscope.encoding.segment import NO_WORD
from headscope.errors import InputError
from support.shared_data import data
from support.slow_tokenizers import byt5, esm, sentence_piece, word_piece


@pytest.fixture(scope="module")
def sentence_pieces(tmp_path_factory):
    return Encoder(sentence_piece(tmp_path_factory.mktemp("spm")))


@pytest.fixture(scope="module")
def bytes_():
    return Encoder(byt5())


@pytest.fixture(scope="module")
def amino_acids(tmp_path_factory):
    return Encoder(esm(tmp_path_factory.mktemp("esm")))


@pytest.mark.parametrize("which", ["sentence_pieces", "bytes_", "amino_acids"])
@pytest.mark.parametrize("texts", [("LAG VS",), ("LAG VS", "EA ,")])
def test_inputs_are_those_of_the_tokenizer_itself(which, texts, request):
    encoder = request.getfixturevalue(which)
    whole = encoder.whole(*encoder.pieces(texts))
    own = encoder.tokenizer(*texts, return_token_type_ids=True, return_special_tokens_mask=True)
    assert whole.ids == own["input_ids"]
    assert whole.type_ids == own["token_type_ids"]
    assert whole.special_tokens_mask == own["special_tokens_mask"]
    assert encoder.special_tokens_single == len(encoder.tokenizer("")["input_ids"])
    assert len(whole) == sum(map(len, encoder.pieces(texts))) + (
        encoder.special_tokens_single if len(texts) == 1 else encoder.special_tokens_pair
    )


@given(st.lists(st.text("aé日.,'ß\u0301", min_size=1, max_size=5), min_size=1, max_size=6))
def test_the_bytes_of_each_word_are_its_own(bytes_, words):
    pieces, alignment = bytes_.piece_words(words)
    for number, word in enumerate(words):
        ids = [i for i, owner in zip(pieces.ids, alignment.word_ids.tolist()) if owner == number]
        # The space before a word belongs to it, as in byte-level BPE.
        assert bytes(i - 3 for i in ids).strip(b" ") == word.encode()
    assert (alignment.word_ids != NO_WORD).all()


@given(st.lists(st.sampled_from(["cat", "The", "dogs", "mat,", "Ω", "sΩt", "sat", "!"]), max_size=8))
def test_sentence_pieces_go_to_the_word_that_they_are_cut_from(sentence_pieces, words):
    """Compare with each word tokenized separately, which is equivalent for these texts."""
    pieces, alignment = sentence_pieces.piece_words(words)
    own = [piece.ids for piece in sentence_pieces.pieces(words)]
    assert pieces.ids == [i for ids in own for i in ids]
    assert alignment.word_ids.tolist() == [number for number, ids in enumerate(own) for _ in ids]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ud-english-ewt/en_ewt-ud-dev.conllu", "ud-french-gsd/fr_gsd-ud-dev.conllu"])
def test_words_are_those_of_the_same_tokenizer_in_rust(name, tmp_path):
    """Compare WordPiece with 30,522 tokens in Python and in Rust, on sentences of a treebank."""
    from headscope.corpora.trees.treebank import read_treebank
    from headscope.models.load_model import load_tokenizer

    fast, _ = load_tokenizer()
    vocabulary = sorted(fast.get_vocab(), key=fast.get_vocab().get)
    slow, quick = Encoder(word_piece(tmp_path, vocabulary)), Encoder(fast)
    compared = 0
    for document in read_treebank([data(name)]):
        for sentence in document.sentences:
            expected, by_offsets = quick.piece_words(sentence.words)
            found, by_spelling = slow.piece_words(sentence.words)
            assert found.ids == expected.ids
            assert by_spelling.word_ids.tolist() == by_offsets.word_ids.tolist()
            compared += 1
        if compared > 60:
            return


def test_pieces_that_cannot_be_traced_are_refused_for_words_and_not_for_tokens():

    class Odd:
        """A tokenizer whose token names are not in the text, and which splits a text differently from its words."""

        is_fast = False
        unk_token_id = None
        pad_token_id = None

        def get_vocab(self):
            return {"x": 0, "y": 1}

        def __call__(self, text, **_):
            return {"input_ids": [len(text) % 2] * max(1, len(text) // 2)}

        def convert_ids_to_tokens(self, ids):
            return ["xy"[i] for i in ids] if isinstance(ids, list) else "xy"[ids]

        def build_inputs_with_special_tokens(self, first, second=()):
            return [*first, *second]

        def create_token_type_ids_from_sequences(self, first, second=()):
            return [0] * (len(first) + len(second))

    encoder = Encoder(Odd())
    (pieces,) = encoder.pieces(["one two"])
    segment = encoder.segment(pieces, document="d", index=0)
    assert segment.ids.tolist() == [1, 1, 1]
    assert (segment.word_ids == NO_WORD).all()
    with pytest.raises(InputError) as refused:
        encoder.piece_words(["one", "two"])
    assert str(refused.value) == (
        "Odd does not say which characters each token covers, and the tokens of 'one two' do not spell it out; words "
        "need a fast tokenizer (a tokenizer.json) here: give a model that has one, or leave out the treebank and "
        "coreference"
    )


def test_lines_are_packed_and_cut_as_with_any_tokenizer(bytes_):
    from headscope.corpora.document import Document

    lines = ("one two", "three", "four five", "six")
    for packing in ("single", "paragraphs", "pretraining"):
        packer = Packer(bytes_, packing=packing, max_length=14)
        segments = list(packer.pack([Document(id="d", lines=lines)]))
        assert segments
        for segment in segments:
            assert len(segment) <= 14
            text = bytes(i - 3 for i in segment.ids.tolist() if i > 2).decode()
            assert all(part in "".join(lines) for part in text.split() if packing == "single")
            # Words are separated by spaces, and counted across lines and pairs.
            known = segment.word_ids[segment.word_ids != NO_WORD].tolist()
            assert known == sorted(known)
            assert known[0] in (0, 1)


def test_words_of_what_is_kept_stay_with_it(bytes_):
    (pieces,) = bytes_.pieces(["one two three"])
    pieces.truncate(9, direction="left")
    pieces.truncate(4)
    assert bytes(i - 3 for i in pieces.ids) == b"two "
    assert pieces.words.ids.tolist() == [1, 1, 1, 2]  # the space belongs to the next word
    assert pieces.offsets == [(4, 5), (5, 6), (6, 7), (7, 8)]
