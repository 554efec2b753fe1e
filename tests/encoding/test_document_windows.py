"""Windows of documents: whole sentences where they fit, nothing lost, every window tokenized by itself."""

from itertools import accumulate, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence
from headscope.encoding.document_windows import WindowCounts, cut_windows
from headscope.encoding.encoder import Encoder
from headscope.errors import OptionError

SPECIAL = ["<s>", "</s>", "<pad>", "<unk>"]


def encoder_of(backend: Tokenizer, *, special: bool = True) -> Encoder:
    if special:
        backend.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
        )
    names = {"cls_token": "<s>", "sep_token": "</s>"} if special else {}
    return Encoder(
        PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", pad_token="<pad>", **names)
    )


def letters(*, special: bool = True) -> Encoder:
    """Return a tokenizer with one token per letter; the letter x has none."""
    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *"abcdefgtho"])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.normalizer = normalizers.Replace("x", "")
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Split(Regex("."), "isolated")]
    )
    return encoder_of(backend, special=special)


def byte_level() -> Encoder:
    """Return a tokenizer like GPT-2's, in which a word has other tokens at the start of a text than after a space."""
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.train_from_iterator(
        ["the dog saw the cat and the cat saw the dog"] * 9,
        trainers.BpeTrainer(
            vocab_size=300,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            special_tokens=SPECIAL,
            show_progress=False,
        ),
    )
    return encoder_of(backend)


def document(*sentences: str) -> AnnotatedDocument:
    return AnnotatedDocument(id="d", sentences=tuple(AnnotatedSentence(words=tuple(s.split())) for s in sentences))


def spans(doc, encoder, *, max_length, **options):
    return [(w.start, w.end) for w in cut_windows(doc, encoder, max_length=max_length, **options)]


def test_whole_sentences_where_they_fit():
    doc = document("ab c", "d e", "fg a", "b c d e f")
    # The sentences have 3, 2, 3 and 5 tokens; with <s> and </s> there is room for five, six and eight.
    assert spans(doc, letters(), max_length=7) == [(0, 4), (4, 6), (6, 11)]
    assert spans(doc, letters(), max_length=8) == [(0, 4), (4, 6), (6, 11)]
    assert spans(doc, letters(), max_length=10) == [(0, 6), (6, 11)]
    assert spans(doc, letters(special=False), max_length=8) == [(0, 6), (6, 11)]


def test_a_long_sentence_is_cut_between_words_and_its_rest_goes_on():
    counts = WindowCounts()
    doc = document("a b", "ab cd efg a b", "c d", "a b")
    assert spans(doc, letters(), max_length=6, counts=counts) == [(0, 2), (2, 4), (4, 6), (6, 9), (9, 11)]
    # Window (6, 9) holds the rest of the cut sentence, and the next one.
    assert counts == WindowCounts(
        documents=1, windows=5, tokens=15 + 10, sentences=4, sentences_cut=1, words=11, words_split=3
    )


def test_the_segment_of_a_window():
    first, second = cut_windows(document("ab c", "d e"), letters(), max_length=5)
    assert (first.segment.document, first.segment.index, first.segment.words) == ("d", 0, ("ab", "c"))
    assert first.segment.word_ids.tolist() == [-1, 0, 0, 1, -1]
    assert (second.segment.index, second.start, second.words) == (1, 2, 2)
    assert second.segment.word_ids.tolist() == [-1, 0, 1, -1]
    assert second.segment.words == ("d", "e")


def test_the_first_window_only():
    counts = WindowCounts()
    assert spans(document("a b", "c d", "e"), letters(), max_length=6, first_only=True, counts=counts) == [(0, 4)]
    assert (counts.windows, counts.words, counts.words_after_first) == (1, 4, 1)


def test_words_without_pieces_and_words_too_long():
    counts = WindowCounts()
    doc = document("a x abcdefg b", "x xx", "c")
    assert spans(doc, letters(), max_length=5, counts=counts) == [(0, 2), (3, 7)]
    assert counts.words_too_long == 1
    assert counts.words_dropped == 3
    assert spans(document("x x", "x"), letters(), max_length=5) == []
    assert spans(document(), letters(), max_length=5) == []


def test_no_room_for_a_word():
    with pytest.raises(
        OptionError, match=r"^--max-length 2 leaves no room beside 2 special tokens; expected at least 3$"
    ):
        spans(document("a"), letters(), max_length=2)


WORDS = st.text("abcdefg", min_size=1, max_size=4)


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.one_of(WORDS, st.just("x"), st.sampled_from(["the", "dog"])), min_size=1), max_size=8),
    st.integers(3, 24),
    st.sampled_from(["letters", "byte-level"]),
)
def test_every_word_comes_once_and_windows_are_full(sentences, max_length, name):
    encoder = letters() if name == "letters" else BYTE_LEVEL
    doc = AnnotatedDocument(id="d", sentences=tuple(AnnotatedSentence(words=tuple(s)) for s in sentences))
    counts = WindowCounts()
    windows = list(cut_windows(doc, encoder, max_length=max_length, counts=counts))
    ends = set(accumulate(map(len, sentences)))

    def size(start, end):
        return len(encoder.piece_words(doc.words[start:end])[0]) + 2

    covered = 0
    for window in windows:
        assert doc.words[window.start : window.end] == window.segment.words
        assert size(window.start, window.end) == len(window.segment) <= max_length
        covered += window.words
        # One more sentence, or one more word of a cut one, would not fit.
        later = min((end for end in ends if end > window.end), default=None)
        if window.end in ends and later is not None:
            assert size(window.start, later) > max_length
        if window.end not in ends:
            assert size(window.start, window.end + 1) > max_length
            assert not [end for end in ends if window.start < end < window.end]
    assert all(left.end <= right.start for left, right in pairwise(windows))
    assert covered == counts.words
    # Words outside all windows are too long, or lie in a stretch without tokens.
    outside = set(range(len(doc.words))) - {i for w in windows for i in range(w.start, w.end)}
    too_long = {i for i in outside if size(i, i + 1) > max_length}
    assert len(too_long) == counts.words_too_long
    assert all(size(i, i + 1) == 2 for i in outside - too_long)


BYTE_LEVEL = byte_level()


def test_tokenizing_is_linear_in_the_document():
    """A document of 40 windows is tokenized about twice, instead of once to its end for each window."""
    encoder = letters()
    doc = document(*["ab c d"] * 400)
    seen = 0
    whole = encoder.piece_words

    def watched(words, spaces=()):
        nonlocal seen
        seen += len(words)
        return whole(words, spaces)

    encoder.piece_words = watched
    windows = list(cut_windows(doc, encoder, max_length=42))
    assert len(windows) == 40
    assert seen < 4 * len(doc.words)
