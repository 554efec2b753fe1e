"""Sums of pulls over a text: a mean over rows of each input, and the same however inputs are grouped."""

import functools
from dataclasses import replace

import numpy as np
import pytest

from headscope.analyses.why.source import PullSource
from headscope.analyses.why.sums import PullAccumulator
from headscope.attention.scan import scan
from support.hand_made import HandMadeSource, random_map
from support.inputs import made_up_segments, vocabulary
from support.pull_models import pull_anatomy, pull_model

SEGMENTS = made_up_segments(4, seed=3, longest=9, documents=3)


@functools.cache
def bert_source():
    return PullSource(pull_model("bert"), pull_anatomy("bert"), vocabulary(), [])


def summed(*batches):
    source = bert_source()
    source.batches = batches
    sums = PullAccumulator(source.layout)
    scan(source, [sums])
    return sums


@pytest.fixture(scope="module")
def alone():
    """The sums of each input by itself."""
    return [summed([segment]).compute() for segment in SEGMENTS]


def assert_same(found, expected):
    for kind, sums in expected.items():
        np.testing.assert_allclose(found[kind].accounts, sums.accounts, atol=1e-12)
        np.testing.assert_array_equal(found[kind].inputs, sums.inputs)


def test_inputs_of_a_document_are_added(alone):
    found = summed(SEGMENTS[:1], SEGMENTS[1:]).compute()
    documents = sorted({segment.document for segment in SEGMENTS})
    for kind, sums in found.items():
        for row, document in enumerate(documents):
            own = [each[kind] for each, segment in zip(alone, SEGMENTS, strict=True) if segment.document == document]
            np.testing.assert_allclose(sums.accounts[row], sum(each.accounts[0] for each in own), atol=1e-12)
            np.testing.assert_array_equal(sums.inputs[row], sum(each.inputs[0] for each in own))
        np.testing.assert_allclose(sums.totals, sums.accounts[..., 0, :].sum(-1), atol=1e-4 * abs(sums.totals).max())


def test_batches_order_and_merging_change_nothing():
    whole = summed(SEGMENTS)
    assert_same(summed(SEGMENTS[:0:-1], SEGMENTS[:1]).compute(), whole.compute())
    half = PullAccumulator.from_state(summed(SEGMENTS[2:]).state())
    half.merge(summed(SEGMENTS[:2]))
    assert_same(half.compute(), whole.compute())


def test_a_layer_in_several_tiles_is_added_once():
    found = []
    for height in (None, 2):
        source = HandMadeSource(SEGMENTS, random_map, height=height)
        sums = PullAccumulator(source.layout)
        scan(source, [sums])
        found.append(sums.compute())
    assert_same(*found)


def test_an_input_without_rows_does_not_count():
    """A text of two tokens sees one key that is no separator."""
    short = replace(
        SEGMENTS[0], **{name: getattr(SEGMENTS[0], name)[:2] for name in ("ids", "token_types", "word_ids")}
    )
    sums = summed([short]).compute()["encoder"]
    assert (sums.inputs == [1, 0]).all()
    assert not sums.accounts[..., 1, :, :].any()
    assert sums.accounts[..., 0, :, :].any()
