"""Made-up word vectors for the structural probe, random or with a planted tree."""

from collections.abc import Sequence

import numpy as np

from headscope.analyses.probes.structural.state_store import StoredSentence
from headscope.attention.word_rows import WordStates
from headscope.encoding.segment import Segment
from support.trees import random_tree


def made_up_states(
    number: int, *, seed: int = 0, layers: int = 2, width: int = 8, documents: int | None = None, longest: int = 9
) -> list[WordStates]:
    """Return sentences with trees and random vectors; some words have none."""
    rng = np.random.default_rng(seed)
    made = []
    for place in range(number):
        words = int(rng.integers(2, longest + 1))
        known = rng.random(words) > 0.1
        vectors = rng.normal(size=(layers, words, width)).astype(np.float32)
        vectors[:, ~known] = 0
        made.append(WordStates(tree_segment(words, rng, place, documents or number), vectors, known))
    return made


def planted_states(
    number: int, *, seed: int = 0, width: int = 12, noise: float = 0.02, documents: int = 40, longest: int = 7
) -> list[WordStates]:
    """Return vectors of three layers: noise, then a tree in some dimensions, then the tree under more noise.

    The arc to each word has its own direction, given by the word's position. A word's vector is the sum over its
    path from the root, so that squared distances between words are distances in the tree. Finally all vectors are
    rotated and stretched.
    """
    rng = np.random.default_rng(seed)
    turn = np.random.default_rng(99).normal(size=(longest + 2, width))
    made = []
    for place in range(number):
        words = int(rng.integers(5, longest + 1))
        segment = tree_segment(words, rng, place, documents)
        path = np.zeros((words, longest + 2))
        for word in range(words):
            at = word
            while segment.fields["heads"][at]:
                path[word, at] = 1
                at = segment.fields["heads"][at] - 1
        path[:, longest:] = 3 * rng.normal(size=(words, 2))  # two directions that are unrelated to the tree
        planted = path @ turn
        layers = [
            rng.normal(size=(words, width)),
            planted + noise * rng.normal(size=(words, width)),
            planted + 20 * noise * rng.normal(size=(words, width)),
        ]
        vectors = np.stack(layers).astype(np.float32)
        made.append(WordStates(segment, vectors, np.ones(words, dtype=bool)))
    return made


def tree_segment(words: int, rng: np.random.Generator, place: int, documents: int) -> Segment:
    """Return a segment with this number of words and a random tree; its tokens are arbitrary."""
    heads, relations = random_tree(words, rng)
    return Segment(
        document=f"d{place % documents}",
        index=place // documents,
        ids=np.arange(words),
        token_types=np.zeros(words, dtype=np.int64),
        word_ids=np.arange(words),
        words=("w",) * words,
        fields={"heads": heads, "relns": relations},
    )


def stored_sentence(
    heads: Sequence[int],
    *,
    document: str = "d",
    index: int = 0,
    punctuation: Sequence[int] = (),
    unknown: Sequence[int] = (),
    start: int = 0,
) -> StoredSentence:
    """Return a hand-made sentence of the store; `punctuation` and `unknown` list word indices from 0."""
    marks, known = np.zeros(len(heads), dtype=bool), np.ones(len(heads), dtype=bool)
    marks[list(punctuation)] = True
    known[list(unknown)] = False
    return StoredSentence(document, index, tuple(heads), marks, known, start)
