"""Masks: their number, choice and replacements depend on the segment and the seed alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.encoding.denoising import MaskedTokens
from headscope.encoding.loss_questions import NO_TARGET
from headscope.errors import ModelError
from support.inputs import CLS, SEP, made_up_segment
from support.task_models import MASK, MadeUpTokenizer

SPECIAL = {CLS, 1, SEP, MASK}


def segment(length, *, seed=0, **what):
    return made_up_segment(np.random.default_rng(seed), length, document="d", **what)


@given(length=st.integers(3, 120), seed=st.integers(0, 5), pair=st.booleans())
def test_fifteen_percent_of_what_is_not_special_is_hidden(length, seed, pair):
    given_ = segment(length, seed=seed, pair=pair)
    before = given_.ids.copy()
    question = MaskedTokens(MadeUpTokenizer(), seed=seed)(given_)
    ordinary = [place for place, token in enumerate(before) if token not in SPECIAL]
    hidden = np.flatnonzero(question.targets != NO_TARGET).tolist()
    assert len(hidden) == max(1, round(0.15 * len(ordinary)))
    assert set(hidden) <= set(ordinary)
    assert question.targets[hidden].tolist() == before[hidden].tolist()
    untouched = np.delete(question.segment.ids, hidden)
    assert untouched.tolist() == np.delete(before, hidden).tolist()
    assert given_.ids.tolist() == before.tolist()
    shown = question.segment.ids[hidden]
    assert all(token == MASK or token not in SPECIAL for token in shown)
    assert question.number == len(hidden)
    assert (question.segment.document, question.segment.index) == (given_.document, given_.index)


def test_eighty_ten_ten():
    ask = MaskedTokens(MadeUpTokenizer())
    masked = same = number = 0
    for index in range(400):
        own = segment(100, seed=index, index=index)
        question = ask(own)
        hidden = question.targets != NO_TARGET
        masked += int((question.segment.ids[hidden] == MASK).sum())
        same += int((question.segment.ids[hidden] == own.ids[hidden]).sum())
        number += int(hidden.sum())
    # The bounds are four standard errors; one random token in 95 equals the original.
    assert abs(masked / number - 0.8) < 4 * np.sqrt(0.16 / number)
    assert abs(same / number - 0.1 - 0.1 / 95) < 4 * np.sqrt(0.09 / number)


def test_every_ordinary_token_may_stand_in_and_no_special_one():
    ask = MaskedTokens(MadeUpTokenizer())
    assert ask.ordinary.tolist() == [i for i in range(99) if i not in SPECIAL]


def test_masks_do_not_depend_on_the_company():
    segments = [segment(20, seed=index, index=index) for index in range(6)]
    ask = MaskedTokens(MadeUpTokenizer())
    there = [ask(one) for one in segments]
    back = [MaskedTokens(MadeUpTokenizer())(one) for one in segments[::-1]][::-1]
    for one, other in zip(there, back):
        assert one.segment.ids.tolist() == other.segment.ids.tolist()
        assert one.targets.tolist() == other.targets.tolist()
    another = [MaskedTokens(MadeUpTokenizer(), seed=1)(one) for one in segments]
    assert any(one.targets.tolist() != other.targets.tolist() for one, other in zip(there, another))


def test_special_tokens_alone_give_no_question():
    assert MaskedTokens(MadeUpTokenizer())(segment(2)) is None


def test_a_tokenizer_without_a_mask_is_refused():
    with pytest.raises(ModelError) as refused:
        MaskedTokens(MadeUpTokenizer(mask=False))
    assert str(refused.value) == (
        "MadeUpTokenizer has no mask token, which masked language modeling needs; expected the tokenizer of a model "
        "trained on it, or choose another loss"
    )
