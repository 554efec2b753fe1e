"""Trees as probes read them: sentences in order, words and labels as numbers, and the control task."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.analyses.probes.tree_sentences import (
    BEHAVIORS,
    UNKNOWN,
    WordTable,
    behavior_of,
    control_targets,
    is_punctuation,
    kinds_of,
    numbered,
    tree_sentences,
)
from headscope.analyses.probes.word_vectors import WordVectors
from headscope.corpora.annotation import AnnotatedDocument, AnnotatedSentence

VECTORS = WordVectors(
    name="fixed",
    width=2,
    vector={
        word: np.array(values, dtype=np.float32)
        for word, values in {"a": (1.0, 3.0), "b": (5.0, 3.0), "c": (100.0, -7.0)}.items()
    }.get,
)


def document(name, *sentences):
    return AnnotatedDocument(
        id=name,
        sentences=tuple(
            AnnotatedSentence(words=tuple(words), heads=tuple(heads), relations=tuple(relations))
            for words, heads, relations in sentences
        ),
    )


TRAIN = document(
    "d", ("aab", (2, 0, 2), ("nsubj:pass", "root", "punct")), ((), (), ()), ("b", (0,), ("root",)), ("a", (), ())
)


def test_sentences_without_words_or_a_tree_are_left_out():
    sentences = tree_sentences([TRAIN])
    assert [sentence.key for sentence in sentences] == [("d", 0), ("d", 2)]
    assert sentences[0].heads.tolist() == [2, 0, 2]
    assert sentences[0].relations == ("nsubj:pass", "root", "punct")
    assert tree_sentences([TRAIN], folded=True)[0].relations == ("nsubj", "root", "punct")


def test_words_and_relations_are_numbered_by_their_place():
    sentences = tree_sentences([TRAIN])
    assert kinds_of(sentences) == ("a", "b")
    assert kinds_of(sentences, relations=True) == ("nsubj:pass", "punct", "root")
    assert [own.tolist() for own in numbered(sentences, ("b", "a"))] == [[1, 1, 0], [0]]
    assert numbered(sentences, ("root",), relations=True)[0].tolist() == [UNKNOWN, 0, UNKNOWN]


def test_punctuation_is_a_relation_or_its_sub_type():
    assert [is_punctuation(name) for name in ("punct", "punct:x", "punctual")] == [True, True, False]


def test_vectors_are_shifted_and_scaled_by_the_words_of_train():
    train = tree_sentences([TRAIN])
    dev = tree_sentences([document("e", ("cb", (2, 0), ("x", "root")))])
    table = WordTable.of(VECTORS, train, dev)
    assert (table.name, table.words) == ("fixed", ("a", "b", "c"))
    # Words of train: a a b b, so the means are 3 and 3, the squares (4, 0) each: together 16 / 8 = 2.
    wanted = np.array([[-2, 0], [2, 0], [97, -10]]) / np.sqrt(2)
    np.testing.assert_allclose(table.vectors, wanted, rtol=1e-6)


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
