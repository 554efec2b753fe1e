"""Masks: their shares, their exceptions, and their dependence on the seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from headscope_train.training_masks import Masker, mask_tokens

MASK, SPECIAL, PIECES = 3, 5, 50
ORDINARY = np.arange(PIECES) >= SPECIAL


def drawn(ids, seed):
    return mask_tokens(ids, ORDINARY[ids], ORDINARY, mask=MASK, generator=np.random.default_rng(seed))


def test_shares_of_many_draws():
    ids = np.random.default_rng(0).integers(0, PIECES, size=40).astype(np.int32)
    able = int(ORDINARY[ids].sum())
    asked = masked = kept = other = 0
    seen = np.zeros(PIECES)
    times = np.zeros(len(ids))
    for seed in range(1500):
        shown, chosen = drawn(ids, seed)
        asked += len(chosen)
        times[chosen] += 1
        masked += int((shown[chosen] == MASK).sum())
        kept += int((shown[chosen] == ids[chosen]).sum())
        swapped = chosen[(shown[chosen] != MASK) & (shown[chosen] != ids[chosen])]
        other += len(swapped)
        np.add.at(seen, shown[swapped], 1)
        untouched = np.setdiff1d(np.arange(len(ids)), chosen)
        assert (shown[untouched] == ids[untouched]).all()
    assert asked / (1500 * able) == pytest.approx(0.15, abs=0.004)
    # One random token in 45 equals the original.
    assert masked / asked == pytest.approx(0.8, abs=0.015)
    assert other / asked == pytest.approx(0.1 * 44 / 45, abs=0.012)
    assert kept / asked == pytest.approx(0.1 + 0.1 / 45, abs=0.012)
    assert (times[~ORDINARY[ids]] == 0).all()
    assert times[ORDINARY[ids]] / 1500 == pytest.approx(0.15, abs=0.04)
    # No special token is inserted, and ordinary ones are about equally frequent.
    assert (seen[:SPECIAL] == 0).all()
    assert seen[SPECIAL:].min() > 0.3 * seen[SPECIAL:].mean()


@given(st.lists(st.integers(0, PIECES - 1), max_size=60), st.integers(0, 2**32))
def test_any_input(values, seed):
    ids = np.array(values, dtype=np.int32)
    before = ids.copy()
    shown, chosen = drawn(ids, seed)
    able = int(ORDINARY[ids].sum())
    assert (ids == before).all()
    assert len(chosen) in ({0} if able == 0 else {max(1, int(0.15 * able)), max(1, int(0.15 * able + 1))})
    assert (np.diff(chosen) > 0).all()
    assert ORDINARY[ids[chosen]].all()
    assert ((shown[chosen] == MASK) | ORDINARY[shown[chosen]]).all()


def test_the_key_and_the_epoch_decide():
    ids = np.arange(5, 45, dtype=np.int32)
    masker = Masker(ORDINARY, MASK)
    one = masker.draw(ids, key=2**64 - 1, epoch=0)
    again = masker.draw(ids, key=2**64 - 1, epoch=0)
    assert (one[0] == again[0]).all()
    assert (one[1] == again[1]).all()
    others = [masker.draw(ids, key=key, epoch=epoch)[0] for key, epoch in ((2**64 - 1, 1), (7, 0), (7, None))]
    for shown in others:
        assert (shown != one[0]).any()


def test_special_tokens_come_from_the_tokenizer():
    minilm = pytest.importorskip("headscope_minilm", reason="the embedded model's package is not installed")
    tokenizer = AutoTokenizer.from_pretrained(minilm.folder())
    masker = Masker.of(tokenizer)
    assert tokenizer.convert_ids_to_tokens(masker.mask) == "[MASK]"
    assert set(np.flatnonzero(~masker.ordinary)) == {0, 100, 101, 102, 103}
    assert len(masker.ordinary) == 30522
