"""Trees as probes read them, and the vectors of their words."""

import numpy as np

from headscope.analyses.probes.tree_sentences import (
    UNKNOWN,
    WordTable,
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
