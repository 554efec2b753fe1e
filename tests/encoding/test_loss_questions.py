"""Prediction targets: the next token, the user's labels, and random numbers that depend on the segment."""

import numpy as np

from headscope.encoding.loss_questions import NO_TARGET, GivenLabels, NextToken, generator_of
from headscope.encoding.segment import NO_WORD, Segment
from support.inputs import made_up_segment


def segment_of(ids, **what):
    ids = np.array(ids, dtype=np.int64)
    words = np.arange(len(ids))
    given = {"document": "d", "index": 0, "token_types": np.zeros_like(ids), "word_ids": words, **what}
    return Segment(ids=ids, **given)


def test_every_token_but_the_last_is_asked_for_its_next():
    question = NextToken()(segment_of([7, 8, 9]))
    assert question.targets.tolist() == [8, 9, NO_TARGET]
    assert question.segment.ids.tolist() == [7, 8, 9]
    assert (question.number, question.decoder) == (2, None)
    assert NextToken()(segment_of([7])) is None


def test_labels_are_written_by_the_decoder_after_its_start():
    ask = GivenLabels(lambda segment: segment.fields["summary"], start=3)
    question = ask(segment_of([7, 8], fields={"summary": [50, 51, 2]}))
    assert question.segment.ids.tolist() == [7, 8]
    assert question.targets.tolist() == [50, 51, 2]
    assert question.decoder.ids.tolist() == [3, 50, 51]
    assert question.decoder.word_ids.tolist() == [NO_WORD] * 3
    assert question.decoder.token_types.tolist() == [0, 0, 0]
    assert ask(segment_of([7, 8], fields={"summary": []})) is None
    wrapping = GivenLabels(lambda segment: [50, 51, 2], start=None)
    assert wrapping(segment_of([7, 8])).decoder.ids.tolist() == [2, 50, 51]


def test_random_numbers_depend_on_document_index_and_seed_alone():
    rng = np.random.default_rng(0)
    one = made_up_segment(rng, 9, document="a", index=3)
    other = made_up_segment(rng, 14, document="a", index=3)

    def drawn(segment, seed=0):
        return generator_of(segment, seed=seed).random(4).tolist()

    assert drawn(one) == drawn(other)
    different = [
        drawn(one),
        drawn(one, seed=1),
        drawn(made_up_segment(rng, 9, document="a", index=4)),
        drawn(made_up_segment(rng, 9, document="b", index=3)),
    ]
    assert len(set(map(tuple, different))) == 4
