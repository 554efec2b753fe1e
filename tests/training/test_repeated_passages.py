"""Repeated passages: their position, length and predictable tokens."""

import numpy as np
import pytest

from headscope_train.repeated_passages import FEWEST, recurring_phrases, repeat_passage, repeat_something

ORDINARY = np.arange(500) >= 3


def own(length=64):
    """Return an input of distinct tokens after one special token, and their positions."""
    ids = np.concatenate([[0], np.arange(100, 100 + length)]).astype(np.int32)
    return ids, np.arange(1, length + 1)


def test_a_passage_stands_twice_and_the_rest_as_it_was():
    lengths, places = [], []
    for seed in range(300):
        ids, between = own()
        shown, asked = repeat_passage(ids, between, generator=np.random.default_rng(seed))
        assert asked.all()
        # The input's own tokens are distinct, so the changed ones show where the copy begins.
        changed = np.flatnonzero(shown != ids)
        copy, length = int(changed[0]), len(changed)
        assert changed.tolist() == list(range(copy, copy + length))
        first = int(shown[copy]) - 100 + 1
        assert np.array_equal(shown[copy : copy + length], ids[first : first + length])
        assert copy >= first + length
        lengths.append(length)
        places.append(copy - first - length)
    assert {min(lengths), max(lengths)} == {8, 32}
    assert min(places) == 0
    assert max(places) > 20


@pytest.mark.parametrize("length", [FEWEST, 64, 255])
def test_what_is_asked_of_phrases_was_seen_to_follow_the_token_before(length):
    share = []
    for seed in range(100):
        ids, between = own(length)
        pieces = np.arange(1000, 1_000_000)  # so many that a token occurs twice only in a phrase
        shown, asked = recurring_phrases(ids, pieces, between, generator=np.random.default_rng(seed))
        assert shown[0] == 0
        assert not asked[0]
        assert len(shown) == len(ids)
        followed = {}
        for at in range(1, len(shown)):
            before, now = int(shown[at - 1]), int(shown[at])
            if asked[at]:
                assert now in followed[before]
            followed.setdefault(before, set()).add(now)
        share.append(asked.mean())
    assert np.mean(share) > (0.1 if length == FEWEST else 0.4)


def test_phrases_follow_one_another_in_no_fixed_order():
    """A head with a fixed offset is right less than half of the time."""
    right = asked_for = 0
    for seed in range(40):
        ids, between = own(128)
        shown, asked = recurring_phrases(
            ids, np.arange(1000, 1_000_000), between, generator=np.random.default_rng(seed)
        )
        backs = range(1, 100)
        hits = [sum(shown[at] == shown[at - back] for at in np.flatnonzero(asked) if at > back) for back in backs]
        right, asked_for = right + max(hits), asked_for + int(asked.sum())
    assert right < 0.5 * asked_for


def test_random_pieces_are_ordinary_and_of_all_kinds():
    seen, kinds = set(), []
    for seed in range(300):
        ids, between = own()
        shown, asked = repeat_something(ids, ORDINARY, between, generator=np.random.default_rng(seed))
        kinds.append(asked.all())
        if not asked.all():
            seen |= set(shown[1:].tolist())
    assert min(seen) >= 3
    assert len(seen) > 450
    assert 0.4 < np.mean(kinds) < 0.6


@pytest.mark.parametrize("length", [0, 1, FEWEST - 1])
def test_short_inputs_stay_as_they_are(length):
    ids, between = own(length)
    shown, asked = repeat_something(ids, ORDINARY, between, generator=np.random.default_rng(1))
    assert np.array_equal(ids, shown)
    assert asked.all()
