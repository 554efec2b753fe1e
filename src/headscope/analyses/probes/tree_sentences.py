"""Trees in the form that probes read: sentences in order, their words and labels as numbers, and their control task.

The control task has targets without any syntax, to measure how much a probe can memorize: each word type draws once
where its tokens point (Hewitt and Liang 2019, "Designing and Interpreting Probes with Control Tasks", section 2). A
probe that can memorize such draws could memorize trees too.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.probes.word_vectors import WordVectors
from headscope.corpora.annotation import AnnotatedDocument

UNKNOWN = -1


@dataclass(frozen=True, eq=False)
class TreeSentence:
    """A sentence with its tree.

    Attributes:
        document: id of its document.
        index: position of the sentence in its document, from 0.
        words: its words.
        heads: position of each word's head, from 1; 0 for the root, `[word]`.
        relations: relation of each word, folded if requested.
    """

    document: str
    index: int
    words: tuple[str, ...]
    heads: NDArray[np.int64]
    relations: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.words)

    @property
    def key(self) -> tuple[str, int]:
        """The document and index that a segment of this sentence carries."""
        return self.document, self.index


def tree_sentences(documents: Iterable[AnnotatedDocument], *, folded: bool = False) -> list[TreeSentence]:
    """Return the sentences that have words and a tree, in order.

    Args:
        documents: a treebank.
        folded: True to read `nsubj:pass` as `nsubj`.
    """
    return [
        TreeSentence(
            document=document.id,
            index=index,
            words=sentence.words,
            heads=np.array(sentence.heads, dtype=np.int64),
            relations=tuple(r.partition(":")[0] if folded else r for r in sentence.relations),
        )
        for document in documents
        for index, sentence in enumerate(document.sentences)
        if sentence.words and sentence.heads
    ]


def is_punctuation(relation: str) -> bool:
    """Return True if a relation is punctuation, `punct` or a sub-type, which UAS excludes."""
    return relation.partition(":")[0] == "punct"


def numbered(
    sentences: Iterable[TreeSentence], names: Sequence[str], *, relations: bool = False
) -> list[NDArray[np.int64]]:
    """Return the index in `names` of each word, or of each word's relation; `UNKNOWN` where it is not in `names`."""
    number = {name: index for index, name in enumerate(names)}
    return [
        np.array([number.get(name, UNKNOWN) for name in (s.relations if relations else s.words)]) for s in sentences
    ]


def kinds_of(sentences: Iterable[TreeSentence], *, relations: bool = False) -> tuple[str, ...]:
    """Return the distinct words, or relations, sorted."""
    return tuple(sorted({name for s in sentences for name in (s.relations if relations else s.words)}))


@dataclass(frozen=True, eq=False)
class WordTable:
    """The vectors of all words that occur, shifted and scaled by common constants.

    Every component has the mean 0 over the words of train, and all together the standard deviation 1: a probe with a
    bias loses no expressive power, and one step size of its optimizer fits vectors of any origin.

    Attributes:
        name: name of the vectors in tables.
        words: the word types, in the order that `numbered` uses.
        vectors: `[type, width]` float32.
    """

    name: str
    words: tuple[str, ...]
    vectors: Tensor

    @classmethod
    def of(cls, vectors: WordVectors, train: Sequence[TreeSentence], dev: Sequence[TreeSentence]) -> "WordTable":
        """Look up the words of two treebanks; the first one determines mean and standard deviation."""
        words = kinds_of([*train, *dev])
        table = vectors.of(words).astype(np.float64)
        types = np.concatenate(numbered(train, words))
        counts = np.bincount(types, minlength=len(words)).astype(np.float64)[:, None]
        table -= (table * counts).sum(0) / counts.sum()
        spread = float(np.sqrt((np.square(table) * counts).sum() / (counts.sum() * table.shape[1])))
        return cls(vectors.name, words, torch.from_numpy((table / max(spread, 1e-12)).astype(np.float32)))


BEHAVIORS = ("self", "first", "last")


def behavior_of(word: str, *, seed: int = 0) -> str:
    """Return the behavior that a word type drew: `self`, `first` or `last`, equally likely; case-sensitive.

    Args:
        word: word type; equal words always draw the same behavior.
        seed: seed of the random draw.
    """
    digest = blake2b(f"{seed} {word}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return BEHAVIORS[int.from_bytes(digest, "little") % len(BEHAVIORS)]


def control_targets(words: Sequence[str], *, seed: int = 0) -> NDArray[np.int64]:
    """Return the index of the word that each word of a sentence points at in the control task, from 0, `[word]`.

    Args:
        words: words of the sentence.
        seed: seed of the random draw (`behavior_of`).
    """
    targets = np.zeros(len(words), dtype=np.int64)
    for index, word in enumerate(words):
        target_of = {"self": index, "first": 0, "last": len(words) - 1}
        targets[index] = target_of[behavior_of(word, seed=seed)]
    return targets
