"""The control task: each word type's one draw, and where a sentence's words point then."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.analyses.probes.tree_sentences import BEHAVIORS, behavior_of, control_targets


def test_the_three_behaviors_are_as_likely():
    counts = Counter(behavior_of(f"word{i}") for i in range(3000))
    assert set(counts) == set(BEHAVIORS)
    # Within four standard errors of a third.
    assert all(abs(count - 1000) < 4 * (3000 * 2 / 9) ** 0.5 for count in counts.values())


def test_a_word_draws_once_for_all_sentences_and_anew_with_another_seed():
    words = [f"word{i}" for i in range(300)]
    again = [behavior_of(word) for word in words]
    assert again == [behavior_of(word) for word in words]
    same = sum(behavior_of(word, seed=1) == first for word, first in zip(words, again))
    assert same == pytest.approx(100, abs=4 * (300 * 2 / 9) ** 0.5)
    cased = sum(behavior_of(word.upper()) == first for word, first in zip(words, again))
    assert cased == pytest.approx(100, abs=4 * (300 * 2 / 9) ** 0.5)


@given(st.lists(st.text(max_size=5), max_size=8), st.integers(0, 3))
def test_targets_are_the_word_itself_the_first_or_the_last(words, seed):
    found = control_targets(words, seed=seed)
    assert found.dtype == np.int64
    for place, (word, target) in enumerate(zip(words, found, strict=True)):
        meant = {"self": place, "first": 0, "last": len(words) - 1}
        assert target == meant[behavior_of(word, seed=seed)]
