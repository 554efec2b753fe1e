"""Sentences that every head is drawn on: different ones, the most wanted first, and few of a large model."""

import numpy as np
import pytest

from headscope.scans.examples.collector import MOST_SHARED, ExampleMaps, few_sentences


def maps(document, *, segment=0, heads=4, tokens=5):
    return ExampleMaps(
        kind="encoder",
        document=document,
        segment=segment,
        queries=np.arange(tokens),
        keys=np.arange(tokens),
        weights=np.zeros((2, heads, tokens, tokens), dtype=np.float32),
        values=np.zeros((2, heads, 1)),
    )


def names(few):
    return [(one.document, one.segment) for one in few]


def test_each_sentence_once_in_the_order_wanted():
    wanted = [maps("b"), maps("a"), maps("b"), maps("a", segment=1)]
    assert names(few_sentences(wanted)) == [("b", 0), ("a", 0), ("a", 1)]


def test_no_more_than_a_few():
    assert names(few_sentences([maps(letter) for letter in "abcdef"])) == [
        (letter, 0) for letter in "abcdef"[:MOST_SHARED]
    ]


@pytest.mark.parametrize(("most", "kept"), [(0, 1), (399, 1), (400, 2), (599, 2), (600, 3)])
def test_a_large_model_has_fewer_but_one(most, kept):
    # 2 layers of 4 heads on 5 x 5 tokens are 200 weights.
    assert len(few_sentences([maps("a"), maps("b"), maps("c")], most_weights=most)) == kept
