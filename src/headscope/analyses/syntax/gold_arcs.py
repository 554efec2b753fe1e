"""Gold dependency arcs as arrays, the options by which predictions are derived from attention, and the counts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.tables.frames import DISTANCES, FEWEST_ARCS, distance_bins

DIRECTIONS = ("dependent->head", "head->dependent")
NOOP_CLASSES = ("sep", "cls")


@dataclass(frozen=True, kw_only=True)
class DependencyOptions:
    """Options by which predictions are derived from attention.

    Attributes:
        pooling: attention from a split word: `mean`, `first` or `max` (`attention.words.word_attention`).
        special: True if special tokens are candidates too.
        both: True if the sum of the two directions is scored as well.
        compat: True for the original notebook's choices (see `gold_arcs` and `head_answers`).
    """

    pooling: str = "mean"
    special: bool = False
    both: bool = False
    compat: bool = False

    @property
    def directions(self) -> tuple[str, ...]:
        """Names of the directions that are scored."""
        return (*DIRECTIONS, "both") if self.both else DIRECTIONS


@dataclass(frozen=True)
class DependencySums:
    """The counts of one kind of attention; `cell` is relation x distance.

    Attributes:
        kind: `encoder` or `decoder`.
        hits: right answers, `[group, cell, layer, head, direction]`.
        noop: attention to sep and cls from the words that attend in a relation, each counted once per relation, without
            an input's first and last word; see `attending`,
            `[fewer groups, relation, direction, layer, head, NOOP_CLASSES]`.
        attending: number of those words, `[fewer groups, relation, direction]`.
        counts: arcs, `[group, cell]`.
        offsets: right answers of each fixed offset, `[group, cell, OFFSETS]`.
        reachable: arcs that the mask allows, `[relation, layer, direction]`.
        other: right answers with special tokens treated the other way, `[relation, layer, head, direction]`.
    """

    kind: str
    hits: NDArray[np.int32]
    noop: NDArray[np.float64]
    attending: NDArray[np.int32]
    counts: NDArray[np.int32]
    offsets: NDArray[np.int32]
    reachable: NDArray[np.int64]
    other: NDArray[np.int64]


OFFSETS = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
# These relations are counted separately whatever their number, because `all_but_punct_root` leaves them out.
_ALWAYS = ("root", "punct")
_OTHER = "other"
_CLITICS = ("'s", "'", "’s", "’")
_CLITICS_ORIGINAL = ("'s", "s'")


@dataclass(frozen=True)
class Arcs:
    """The arcs of sentences, one per word, sentence after sentence.

    Attributes:
        sizes: number of words of each sentence, `[sentence]`.
        words: index of each word in its sentence, `[word]`.
        heads: index of each word's head, -1 for the root, `[word]`.
        cells: the cell in which each arc is counted: relation x `DISTANCES`, `[word]`.
        dependents: for each word, the word whose attention is scored: itself, or under the `poss` rule its clitic,
            `[word]`.
        offsets: True where the word at each of `OFFSETS` from that dependent is the head, `[word, OFFSETS]`.
    """

    sizes: NDArray[np.int64]
    words: NDArray[np.int64]
    heads: NDArray[np.int64]
    cells: NDArray[np.int64]
    dependents: NDArray[np.int64]
    offsets: NDArray[np.bool_]


@dataclass(frozen=True)
class ArcTable:
    """The relations that are counted separately, and the rules for counting a sentence's arcs.

    Attributes:
        relations: relations counted separately, most frequent first, then `root`, `punct` and `other` (the rarer ones).
        folded: True to count `nsubj:pass` as `nsubj`.
        compat: True to count as the original notebook does: offsets are clamped to the sentence, where the position
            before the first word represents the root, and the `poss` rule is the notebook's own.
    """

    relations: tuple[str, ...]
    folded: bool = False
    compat: bool = False

    @classmethod
    def of(
        cls, counts: Mapping[str, int], *, folded: bool = False, compat: bool = False, fewest: int = FEWEST_ARCS
    ) -> "ArcTable":
        """Choose the relations that occur at least `fewest` times; labels are those of the corpus."""
        total: Counter[str] = Counter()
        for relation, number in counts.items():
            total[relation.partition(":")[0] if folded else relation] += number
        frequent = sorted(
            (name for name, number in total.items() if number >= fewest and name not in (*_ALWAYS, _OTHER)),
            key=lambda name: (-total[name], name),
        )
        return cls((*frequent, *_ALWAYS, _OTHER), folded=folded, compat=compat)

    @property
    def cells(self) -> int:
        """Number of cells: relations x distances."""
        return len(self.relations) * len(DISTANCES)

    @property
    def aggregates(self) -> dict[str, NDArray[np.int64]]:
        """The indices of the relations in each row of a table: `all`, `all_but_punct_root`, each relation."""
        indices = np.arange(len(self.relations))
        without_punct = [i for i, name in enumerate(self.relations) if name.partition(":")[0] not in _ALWAYS]
        rows = {"all": indices, "all_but_punct_root": np.array(without_punct)}
        return rows | {name: indices[i : i + 1] for i, name in enumerate(self.relations[:-1])}

    def arcs(self, words: Sequence[str], heads: Sequence[int], relations: Sequence[str]) -> Arcs:
        """Return the arcs of a sentence; heads count from 1, 0 is the root."""
        return self.arcs_of([(words, heads, relations)])

    def arcs_of(self, sentences: Sequence[tuple[Sequence[str], Sequence[int], Sequence[str]]]) -> Arcs:
        """Return the arcs of sentences, each given by words, heads and relations."""
        sizes = np.array([len(heads) for _, heads, _ in sentences], dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
        at = np.arange(sizes.sum()) - np.repeat(starts, sizes)
        gold = np.array([head for _, heads, _ in sentences for head in heads], dtype=np.int64) - 1
        names = [name for _, _, relations in sentences for name in relations]
        row_of = {name: self._row(name) for name in set(names)}
        row = np.array([row_of[name] for name in names], dtype=np.int64)
        dependents = at.copy()
        clitics = _CLITICS_ORIGINAL if self.compat else _CLITICS
        for (words, _, relations), start in zip(sentences, starts.tolist()):
            if "poss" in relations:
                for i, name in enumerate(relations[:-1]):
                    if name == "poss" and words[i + 1] in clitics:
                        dependents[start + i] = i + 1
        distance = np.where(gold < 0, 0, np.abs(gold - at))
        cells = row * len(DISTANCES) + distance_bins(distance)
        offsets = self._offset_hits(dependents, gold, np.repeat(sizes, sizes))
        return Arcs(sizes, at, gold, cells, dependents, offsets)

    def _row(self, label: str) -> int:
        """Return the index of the relation under which a label is counted."""
        if label in self.relations:
            return self.relations.index(label)
        base = label.partition(":")[0]
        # A rare punct:x is still punctuation.
        is_known = base in self.relations and (self.folded or base in _ALWAYS)
        return self.relations.index(base if is_known else _OTHER)

    def _offset_hits(
        self, dependents: NDArray[np.int64], gold: NDArray[np.int64], size: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Mark the offsets that are right, `[word, OFFSETS]`; `size` is the size of each word's sentence."""
        answers = dependents[:, None] + np.array(OFFSETS)
        if self.compat:
            # The original lets the clitic answer unless the word's own answer is the last word: then both are.
            clamped: NDArray[np.bool_] = np.clip(answers, -1, size[:, None] - 1) == gold[:, None]
            return clamped
        # A head beyond the kept words is not a word of the sentence either.
        inside = (gold >= 0) & (gold < size)
        right: NDArray[np.bool_] = (answers == gold[:, None]) & inside[:, None]
        return right
