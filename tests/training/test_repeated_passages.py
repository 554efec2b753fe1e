"""Passages that stand twice: where, how long, and which of their tokens can be asked for."""

import numpy as np
import pytest

from headscope.training.repeated_passages import FEWEST, repeat_passage

ORDINARY = np.arange(500) >= 3


def drawn(seed, *, length=64):
    ids = np.concatenate([[0], np.arange(100, 100 + length)]).astype(np.int32)
    shown, asked = repeat_passage(
        ids, ORDINARY, np.arange(1, length + 1), generator=np.random.default_rng(seed)
    )
    return ids, shown, asked


def test_a_stretch_stands_twice_and_the_rest_as_it_was():
    lengths, kinds, places = [], [], []
    for seed in range(300):
        ids, shown, asked = drawn(seed)
        assert shown[0] == 0
        assert len(shown) == len(ids)
        if random := not asked.all():
            (first,) = np.flatnonzero(np.diff(np.concatenate([[True], asked]).astype(int)) == -1)
            length = int((~asked).sum())
            assert (~asked[first : first + length]).all()
            copies = [
                at
                for at in range(first + length, len(ids) - length + 1)
                if np.array_equal(shown[at : at + length], shown[first : first + length])
            ]
            assert len(copies) == 1
            copy = copies[0]
        else:
            # Own tokens are all different: what stands twice says where the copy begins.
            changed = np.flatnonzero(shown != ids)
            copy, length = int(changed[0]), len(changed)
            assert changed.tolist() == list(range(copy, copy + length))
            first = int(shown[copy]) - 100 + 1
        assert np.array_equal(shown[copy : copy + length], shown[first : first + length])
        assert copy >= first + length
        elsewhere = np.ones(len(ids), dtype=bool)
        elsewhere[copy : copy + length] = False
        if random:
            elsewhere[first : first + length] = False
        assert np.array_equal(shown[elsewhere], ids[elsewhere])
        lengths.append(length)
        kinds.append(random)
        places.append(copy - first - length)
    assert set(lengths) <= set(range(8, 33))
    assert {min(lengths), max(lengths)} == {8, 32}
    assert 0.4 < np.mean(kinds) < 0.6
    assert min(places) == 0
    assert max(places) > 20


def test_random_pieces_are_ordinary_and_of_all_kinds():
    seen = set()
    for seed in range(200):
        _, shown, asked = drawn(seed)
        seen |= set(shown[~asked].tolist())
    assert min(seen) >= 3
    assert len(seen) > 450


@pytest.mark.parametrize("length", [0, 1, FEWEST - 1])
def test_short_inputs_stay_as_they_are(length):
    ids, shown, asked = drawn(1, length=length)
    assert np.array_equal(ids, shown)
    assert asked.all()
