"""Gold dependency arcs as arrays: which words are asked about, what is right, and where each is counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.arc_bins import DISTANCES, FEWEST_ARCS, distance_bins

OFFSETS = (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5)
# Of relations counted by themselves whatever their number: `all_but_punct_root` leaves them out.
_ALWAYS = ("root", "punct")
_REST = "other"
_CLITICS = ("'s", "'", "’s", "’")
_CLITICS_ORIGINAL = ("'s", "s'")


@dataclass(frozen=True)
class Arcs:
    """The arcs of one sentence, one a word.

    Attributes:
        heads: index of each word's head, -1 for the root, `[word]`.
        cells: where each arc is counted: relation x `DISTANCES`, `[word]`.
        asked: the word whose prediction answers for each word: itself, but for the `poss` rule, `[word]`.
        offsets: whether the word at each of `OFFSETS` from the asked word is the head, `[word, OFFSETS]`.
    """

    heads: NDArray[np.int64]
    cells: NDArray[np.int64]
    asked: NDArray[np.int64]
    offsets: NDArray[np.bool_]


@dataclass(frozen=True)
class ArcTable:
    """The relations that are counted apart, and how a sentence's arcs are counted.

    Attributes:
        relations: those counted apart, most frequent first, then `root`, `punct` and `other` (all rarer ones).
        folded: whether `nsubj:pass` is counted as `nsubj`.
        compat: whether to count as the original notebook does: offsets are clamped to the sentence, where the
            word before the first stands for the root, and the `poss` rule is its own.
    """

    relations: tuple[str, ...]
    folded: bool = False
    compat: bool = False

    @classmethod
    def of(
        cls,
        counts: Mapping[str, int],
        *,
        folded: bool = False,
        compat: bool = False,
        fewest: int = FEWEST_ARCS,
    ) -> "ArcTable":
        """Choose the relations that occur at least `fewest` times; labels as the corpus has them."""
        total: dict[str, int] = {}
        for relation, number in counts.items():
            name = relation.partition(":")[0] if folded else relation
            total[name] = total.get(name, 0) + number
        frequent = sorted(
            (name for name, number in total.items() if number >= fewest and name not in (*_ALWAYS, _REST)),
            key=lambda name: (-total[name], name),
        )
        return cls((*frequent, *_ALWAYS, _REST), folded=folded, compat=compat)

    @property
    def cells(self) -> int:
        """How many cells there are: relations x distances."""
        return len(self.relations) * len(DISTANCES)

    @property
    def aggregates(self) -> dict[str, NDArray[np.int64]]:
        """Which relations make up each row of a table, by index: `all`, `all_but_punct_root`, each relation."""
        every = np.arange(len(self.relations))
        kept = [i for i, name in enumerate(self.relations) if name.partition(":")[0] not in _ALWAYS]
        rows = {"all": every, "all_but_punct_root": np.array(kept)}
        return rows | {name: every[i : i + 1] for i, name in enumerate(self.relations[:-1])}

    def arcs(self, words: Sequence[str], heads: Sequence[int], relations: Sequence[str]) -> Arcs:
        """Lay out a sentence's arcs; heads count from 1, 0 is the root."""
        return self.arcs_of([(words, heads, relations)])[0]

    def arcs_of(self, sentences: Sequence[tuple[Sequence[str], Sequence[int], Sequence[str]]]) -> list[Arcs]:
        """Lay out the arcs of sentences: words, heads and relations of each; cheaper than one by one."""
        if not sentences:
            return []
        sizes = np.array([len(heads) for _, heads, _ in sentences])
        ends = np.cumsum(sizes)
        starts, size = ends - sizes, np.repeat(sizes, sizes)
        at = np.arange(ends[-1]) - np.repeat(starts, sizes)
        gold = np.array([head for _, heads, _ in sentences for head in heads], dtype=np.int64) - 1
        names = [name for _, _, relations in sentences for name in relations]
        row = np.array([self._rows[name] for name in names], dtype=np.int64)
        asked = at.copy()
        clitics = _CLITICS_ORIGINAL if self.compat else _CLITICS
        for (words, _, relations), start in zip(sentences, starts.tolist()):
            if "poss" in relations:
                for i, name in enumerate(relations[:-1]):
                    if name == "poss" and words[i + 1] in clitics:
                        asked[start + i] = i + 1
        distance = np.where(gold < 0, 0, np.abs(gold - at))
        cells = row * len(DISTANCES) + distance_bins(distance)
        offsets = self._offset_hits(asked, gold, size)
        return [
            Arcs(heads=gold[own], cells=cells[own], asked=asked[own], offsets=offsets[own])
            for own in map(slice, starts.tolist(), ends.tolist())
        ]

    @cached_property
    def _rows(self) -> "_Rows":
        return _Rows(self.relations, folded=self.folded)

    def _offset_hits(
        self, asked: NDArray[np.int64], gold: NDArray[np.int64], size: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Say which offsets are right, `[word, OFFSETS]`; `size` is that of each word's sentence."""
        answers = asked[:, None] + np.array(OFFSETS)
        if self.compat:
            # The original lets the clitic answer unless the word's own answer is the last word: then both are.
            clamped: NDArray[np.bool_] = np.clip(answers, -1, size[:, None] - 1) == gold[:, None]
            return clamped
        # A head beyond the words that were kept is no word of the sentence either.
        inside = (gold >= 0) & (gold < size)
        right: NDArray[np.bool_] = (answers == gold[:, None]) & inside[:, None]
        return right


class _Rows(dict[str, int]):
    """Index of the relation that each label is counted under, worked out once a label."""

    def __init__(self, relations: Sequence[str], *, folded: bool) -> None:
        super().__init__({name: i for i, name in enumerate(relations)})
        self._folded = folded

    def __missing__(self, label: str) -> int:
        base = label.partition(":")[0]
        # A rare punct:x is still punctuation.
        known = base in self and (self._folded or base in _ALWAYS)
        self[label] = self[base] if known else self[_REST]
        return self[label]
