"""Span denoising: the encoder's input and the decoder's targets together are the text."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.encoding.denoising import Denoising, runs, span_places
from headscope.encoding.loss_questions import generator_of
from headscope.errors import ModelError
from support.inputs import CLS, SEP, made_up_segment
from support.task_models import MASK, SENTINELS, MadeUpTokenizer

START = 1
T5, BART = MadeUpTokenizer(mask=False, sentinels=True), MadeUpTokenizer()


def segment(length, *, seed=0, pair=False, index=0):
    rng = np.random.default_rng(seed)
    own = made_up_segment(rng, length, document="d", pair=pair, index=index)
    own.ids[np.isin(own.ids, (*SENTINELS, MASK))] = 50
    return own


def spelt_out(question):
    """Replace T5's sentinels by the spans of the decoder's targets."""
    spans, own = {}, None
    for token in question.targets.tolist():
        if token in SENTINELS:
            own = spans.setdefault(token, [])
        elif own is not None:
            own.append(token)
    out = []
    for token in question.segment.ids.tolist():
        out += spans[token] if token in SENTINELS else [token]
    return out


@given(length=st.integers(3, 90), seed=st.integers(0, 20), pair=st.booleans())
def test_t5_spells_the_text_out_again(length, seed, pair):
    own = segment(length, seed=seed, pair=pair)
    before = own.ids.copy()
    question = Denoising(T5, start=START, seed=seed)(own)
    assert spelt_out(question) == before.tolist() == own.ids.tolist()
    targets, used = question.targets.tolist(), [t for t in question.segment.ids.tolist() if t in SENTINELS]
    # Both contain the sentinels in order; the targets end with one more and the end token.
    assert used == list(SENTINELS[: len(used)])
    assert [t for t in targets if t in SENTINELS] == list(SENTINELS[: len(used) + 1])
    assert targets[-2:] == [SENTINELS[len(used)], SEP]
    assert question.decoder.ids.tolist() == [START, *targets[:-1]]
    assert len(question.decoder.word_ids) == len(question.decoder.token_types) == len(targets)
    assert len(question.segment.word_ids) == len(question.segment.token_types) == len(question.segment.ids)
    hidden = len(before) - (len(question.segment.ids) - len(used))
    ordinary = int((~np.isin(before, [CLS, SEP])).sum())
    # 15% of the tokens are hidden, or fewer if the sentinels run out.
    assert 1 <= hidden <= max(1, round(0.15 * ordinary))
    assert hidden == max(1, round(0.15 * ordinary)) or len(used) == len(SENTINELS) - 1


@given(length=st.integers(3, 90), seed=st.integers(0, 20), pair=st.booleans())
def test_bart_writes_the_whole_text_and_reads_a_mask_a_span(length, seed, pair):
    own = segment(length, seed=seed, pair=pair)
    question = Denoising(BART, start=START, seed=seed)(own)
    assert question.targets.tolist() == own.ids.tolist()
    assert question.decoder.ids.tolist() == [START, *own.ids[:-1].tolist()]
    shown = question.segment.ids.tolist()
    # The unmasked tokens occur in the text in the same order.
    rest = iter(own.ids.tolist())
    assert all(token in rest for token in shown if token != MASK)
    specials = [token for token in own.ids.tolist() if token in (CLS, SEP)]
    assert [token for token in shown if token in (CLS, SEP)] == specials
    ordinary = int((~np.isin(own.ids, [CLS, SEP])).sum())
    hidden = len(own) - len(shown) + shown.count(MASK)
    assert hidden == max(1, round(0.3 * ordinary))
    assert not any(a == b == MASK for a, b in pairwise(shown))


@given(number=st.integers(1, 300), share=st.floats(0.01, 0.9), seed=st.integers(0, 10))
def test_spans_are_as_many_and_as_long_as_said(number, share, seed):
    generator = np.random.default_rng(seed)
    hidden = span_places(number, share=share, generator=generator)
    assert len(hidden) == number
    expected = min(max(1, round(share * number)), number)
    assert int(hidden.sum()) == expected
    assert len(runs(hidden)) == min(max(1, round(expected / 3)), number - expected + 1)


def test_every_place_is_as_likely_hidden_but_for_the_ends():
    """Over many draws, each middle token is hidden about as often as `share`."""
    generator = np.random.default_rng(0)
    times = np.mean([span_places(60, share=0.15, generator=generator) for _ in range(4000)], axis=0)
    assert abs(times.mean() - 0.15) < 1e-9
    assert times[10:50].min() > 0.11
    assert times[10:50].max() < 0.19


def test_runs_are_found():
    mask = np.array([1, 0, 1, 1, 0, 0, 1], dtype=bool)
    assert runs(mask) == [slice(0, 1), slice(2, 4), slice(6, 7)]
    assert runs(np.zeros(3, dtype=bool)) == []


def test_what_is_drawn_depends_on_the_segment_alone():
    ask = Denoising(T5, start=START)
    segments = [segment(30, seed=9, index=index) for index in range(4)]
    there = [ask(one).targets.tolist() for one in segments]
    assert [ask(one).targets.tolist() for one in segments[::-1]] == there[::-1]
    assert len(set(map(tuple, there))) > 1  # the same ids at another index get another draw
    assert generator_of(segments[0], seed=0).random() != generator_of(segments[1], seed=0).random()


def test_special_tokens_alone_give_no_question():
    assert Denoising(T5, start=START)(segment(2)) is None


def test_a_tokenizer_with_nothing_to_hide_behind_is_refused():
    with pytest.raises(ModelError) as refused:
        Denoising(MadeUpTokenizer(mask=False), start=START)
    assert str(refused.value) == (
        "MadeUpTokenizer has neither sentinels (<extra_id_0> ...) nor a mask token, which span denoising needs; "
        "expected the tokenizer of a T5 or BART, or labels of your own (ImportanceMeasurement)"
    )
