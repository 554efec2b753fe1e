"""What is made for experiments: seeded, within what the model reads, of ordinary tokens alone."""

import numpy as np

from headscope.analyses.experiments.compute import (
    DEPTHS,
    NEEDLE,
    needles,
    ordinary_ids,
    repeated_tokens,
    shuffled_words,
    text_of,
)
from headscope.corpora.document import Document
from headscope.encoding.encoder import Frame
from headscope.models.load_model import load_tokenizer
from support.inputs import CLS, SEP, made_up_segments

FRAME = Frame((7,), (8,))
IDS = np.arange(10, 60)
TEXT = {f"doc{place}": np.arange(100 * place, 100 * place + 80) for place in range(1, 6)}


def test_a_stretch_is_repeated_once():
    made = repeated_tokens(IDS, FRAME, longest=500, seed=3, number=5)
    again = repeated_tokens(IDS, FRAME, longest=500, seed=3, number=5)
    other = repeated_tokens(IDS, FRAME, longest=500, seed=4, number=5)
    assert len({segment.document for segment in made}) == 5
    for one, same, another in zip(made, again, other, strict=True):
        assert len(one) == 130
        assert (one.ids[0], one.ids[-1]) == (7, 8)
        first, stop = one.fields["copy"]
        assert (first, stop) == (65, 129)
        np.testing.assert_array_equal(one.ids[1:65], one.ids[first:stop])
        assert set(one.ids[1:65]) <= set(IDS.tolist())
        np.testing.assert_array_equal(one.ids, same.ids)
        assert (one.ids != another.ids).any()


def test_a_model_that_reads_less_has_shorter_stretches_or_none():
    assert {len(each) for each in repeated_tokens(IDS, FRAME, longest=41, seed=0)} == {40}
    assert repeated_tokens(IDS, FRAME, longest=17, seed=0) == []
    assert repeated_tokens(IDS[:0], FRAME, longest=500, seed=0) == []


def test_tokens_are_drawn_from_those_that_stand_for_text():
    tokenizer, _ = load_tokenizer()
    ids = ordinary_ids(tokenizer)
    names = tokenizer.convert_ids_to_tokens(ids.tolist())
    assert len(ids) > 1000
    assert not {"[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"} & set(names)
    assert not [name for name in names if "unused" in name]


def test_words_change_places_within_their_line():
    document = Document(id="d", lines=("a b c d e f g h", "one two"))
    found = shuffled_words(document, seed=1)
    assert found == shuffled_words(document, seed=1)
    assert found.lines != document.lines
    assert [sorted(line.split()) for line in found.lines] == [sorted(line.split()) for line in document.lines]
    words = shuffled_words(Document(id="d", words=tuple("abcdefgh")), seed=1)
    assert sorted(words.words) == list("abcdefgh")
    cut = shuffled_words(Document(id="d", tokens=("[CLS]", *"abcdefgh", "[SEP]")), seed=1)
    assert (cut.tokens[0], cut.tokens[-1]) == ("[CLS]", "[SEP]")
    assert cut.tokens[1:-1] != tuple("abcdefgh")
    assert shuffled_words(Document(id="d", tokens=("[CLS]",)), seed=1).tokens == ("[CLS]",)


def test_needles_lie_at_every_depth_in_text_of_other_documents():
    made = needles(TEXT, FRAME, longest=200, seed=0, number=6)
    assert len(made) == 6 * len(DEPTHS)
    depths = set()
    for segment in made:
        (start, end), (first, stop) = segment.fields["needle"], segment.fields["copy"]
        assert stop == len(segment) <= 200
        assert end - start == stop - first == NEEDLE
        np.testing.assert_array_equal(segment.ids[start:end], segment.ids[first:stop])
        own = set(TEXT[segment.document].tolist())
        assert set(segment.ids[start:end].tolist()) <= own
        hay = {*segment.ids[1:start].tolist(), *segment.ids[end:first].tolist()}
        assert not hay & own
        depths.add(round((start - 1) / (first - 1 - NEEDLE), 1))
    assert depths >= {0.0, 0.5, 1.0}
    assert len({len(segment) for segment in made}) == 3
    assert len({segment.document for segment in made}) == 5
    assert len({(segment.document, segment.index) for segment in made}) == len(made)


def test_text_that_is_too_short_hides_nothing():
    assert needles({"a": np.arange(10)}, FRAME, longest=200, seed=0) == []
    assert needles({"a": np.arange(90)}, FRAME, longest=200, seed=0) == []  # nothing to hide it in
    assert needles(TEXT, FRAME, longest=40, seed=0) == []


def test_text_is_read_without_special_tokens():
    segments = made_up_segments(6, documents=2)
    found = text_of(segments, [CLS, SEP])
    assert list(found) == ["doc0", "doc1"]
    assert sum(map(len, found.values())) == sum(
        int(((segment.ids != CLS) & (segment.ids != SEP)).sum()) for segment in segments
    )
