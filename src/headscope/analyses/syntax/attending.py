"""The words that attend in a relation: sums by document and cell, their attention to special tokens, claims on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.syntax.head_answers import Answers, BatchArcs
from headscope.analyses.syntax.relations import choices, relations_of
from headscope.encoding.segment import sent
from headscope.present.cells import Cell, number, records
from headscope.present.claim_rules import above, below
from headscope.present.facts import Fact
from headscope.present.linked_sentences import HeadRef
from headscope.present.report_parts import Context
from headscope.present.study import Study
from headscope.present.words import Words, attending
from headscope.statistics.inference.significance import LEAST_SHARE
from headscope.statistics.sums.groups import GroupedSums


@dataclass(frozen=True, eq=False)
class ArcRuns:
    """The pairs of document and cell under which a batch's arcs are counted, sorted.

    Attributes:
        run_of: index of the pair of each arc, `[arc]`.
        documents: index of the document of each pair, `[run]`.
        cells: cell of each pair, `[run]`.
    """

    run_of: NDArray[np.int64]
    documents: NDArray[np.int64]
    cells: NDArray[np.int64]

    @classmethod
    def of(cls, documents: NDArray[np.int64], cells: NDArray[np.int64]) -> ArcRuns:
        """Number the pairs of `documents` and `cells`, both `[arc]`."""
        width = int(cells.max(initial=0)) + 1
        pairs, run_of = np.unique(documents * width + cells, return_inverse=True)
        return cls(run_of, pairs // width, pairs % width)

    def sums(self, values: Tensor) -> Tensor:
        """Sum `[arc, ...]` to `[run, ...]`."""
        return sum_runs(values, self.run_of, len(self.cells))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of arcs of each pair, `[run]`."""
        return np.bincount(self.run_of, minlength=len(self.cells))

    def add_to(self, store: GroupedSums, documents: Sequence[str], **sums: NDArray[Any]) -> None:
        """Add sums, `[run, ...]` by name in the store, to the documents with these ids."""
        ends = np.searchsorted(self.documents, np.arange(len(documents) + 1)).tolist()
        for document, span in zip(documents, pairwise(ends), strict=True):
            run = slice(*span)
            store.add_at(document, self.cells[run], **{name: values[run] for name, values in sums.items()})


def sum_runs(values: Tensor, run_of: NDArray[np.int64], number: int) -> Tensor:
    """Sum `[arc, ...]` to `[run, ...]`; True counts as 1, and float32 is exact far beyond the size of a batch."""
    flat = values.flatten(1)
    flat = flat.float() if flat.dtype == torch.bool else flat
    total = torch.zeros((number, flat.shape[1]), dtype=flat.dtype, device=flat.device)
    total.index_add_(0, sent(torch.from_numpy(run_of), flat.device), flat)
    return total.reshape(number, *values.shape[1:])


@dataclass(frozen=True, eq=False)
class Attending:
    """The words of a batch that attend in each relation and direction, each once whatever its number of arcs there.

    For `dependent->head` these are the relation's dependents, for `head->dependent` the head words of its
    dependents, for `both` all of these. A word without pieces has no row of attention, so it attends in none. The first
    and the last word of an input are excluded, because a head that attends backward, or forward, finds only the
    adjacent special token there. Every other word is the dependent of one arc, so that the dependents of all relations
    are all these words, each once.

    Attributes:
        rows: the segment of each word, `[member]`.
        positions: position of each word on the word axis, `[member]`.
        cells: cell in which each word is counted: relation x direction, `[member]`.
    """

    rows: NDArray[np.int64]
    positions: NDArray[np.int64]
    cells: NDArray[np.int64]

    @classmethod
    def of(cls, batch_arcs: BatchArcs, relations: NDArray[np.int64], *, directions: int) -> Attending:
        """Collect the words.

        Args:
            batch_arcs: the batch's arcs.
            relations: index of each arc's relation, `[arc]`.
            directions: number of directions: 2, or 3 with `both`.
        """
        rows, words, _, gold, _ = batch_arcs.on_host
        sides = [(0, words), (1, gold)]
        if directions > len(sides):
            sides += [(2, words), (2, gold)]
        segments, width = batch_arcs.axis.words.shape
        inner = _inner(rows, words, (segments, width))
        number = directions * (int(relations.max(initial=0)) + 1)
        keys = [
            ((rows * width + ends) * number + relations * directions + direction)[(ends >= 0) & inner[rows, ends]]
            for direction, ends in sides
        ]
        # A head word of several dependents is counted once.
        at, cells = np.divmod(np.unique(np.concatenate(keys)), number)
        rows, positions = np.divmod(at, width)
        return cls(rows, positions, cells)

    def pick(self, table: Tensor) -> Tensor:
        """Select the members' attention from the table of `special_attention`, `[member, layer, head, 2]` float64."""
        at = sent(torch.from_numpy(np.stack([self.rows, self.positions])), table.device)
        picked: Tensor = table[at[0], at[1]].double()
        return picked


def _inner(rows: NDArray[np.int64], words: NDArray[np.int64], shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Mark the positions of words that have words on both sides, bool `[batch, word]`.

    Args:
        rows: the segment of each word, `[word]`.
        words: position of each word, -1 without pieces, `[word]`.
        shape: number of segments and number of positions.
    """
    is_word = np.zeros(shape, dtype=bool)
    is_word[rows[words >= 0], words[words >= 0]] = True
    before = np.maximum.accumulate(is_word, axis=1)
    behind = np.maximum.accumulate(is_word[:, ::-1], axis=1)[:, ::-1]
    inner = is_word.copy()
    inner[:, 1:] &= before[:, :-1]
    inner[:, :-1] &= behind[:, 1:]
    inner[:, 0] = inner[:, -1] = False
    return inner


def special_attention(answers: Answers, batch_arcs: BatchArcs) -> Tensor:
    """Sum the attention of every word to sep and to cls, `[batch, word, layer, head, 2]`.

    Args:
        answers: answers in the direction dependent->head, which are read from the rows of attention.
        batch_arcs: the batch's arcs.
    """
    classes = batch_arcs.classes.to(answers.special.dtype)
    return torch.einsum("bpslh,bsc->bplhc", answers.special.clamp(min=0), classes)


def split_attending(sums: NDArray[Any], relation: int, direction: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Split sums or counts into those of the words that attend in a relation and those of all other words.

    Args:
        sums: `[group, relation, direction, ...]`, see `Attending`.
        relation: index of the relation.
        direction: index of the direction.

    Returns:
        Both `[group, ...]`.
    """
    inside = sums[:, relation, direction]
    return inside, sums[:, :, 0].sum(1) - inside


LEAST_ATTENTION = 0.05
"""A special token with less attention than this from the other words, on average, is not an attention sink."""


@dataclass(frozen=True, kw_only=True)
class Noop(Fact):
    """The number of relations whose words give a special token less attention than other words do; the clearest.

    Attributes:
        token: name of the special token.
        direction: direction of all relations; empty if they differ.
        less, more, tested, untested: numbers of relations.
        head: the head of the clearest relation; None if there is none.
        words: the attending words of that relation.
        from_words, from_others: attention to the token from these and from all other words.
    """

    token: str
    direction: str
    less: int
    more: int
    tested: int
    untested: int
    head: HeadRef | None = None
    words: str = ""
    from_words: float = 0.0
    from_others: float = 0.0
    topic = "syntax_noop"


def established_rows(run: Study) -> list[dict[str, Any]]:
    """Return the rows of `syntax_noop` on relations that a head is shown to find, in the order of table 1.

    Where no head beats every fixed offset, no word is known to attend in the relation.
    """
    order = {relation.name: rank for rank, (relation, best) in enumerate(choices(relations_of(run))) if best.beats}
    rows = [row for row in records(run.tables.get("syntax_noop")) if row["relation"] in order]
    return sorted(rows, key=lambda row: order[str(row["relation"])])


def token_name(key_class: str, words: Words) -> str:
    """Return the name of a special token's class in this model."""
    return {"cls": words.cls, "sep": words.sep}.get(key_class, key_class)


def noop_tokens(about: Context) -> list[str]:
    """Return the names of the special tokens that the rows are about."""
    present = {str(row["key_class"]) for row in established_rows(about.run)}
    return [token_name(key, about.words) for key in ("sep", "cls") if key in present]


def noop_facts(about: Context) -> Iterator[Fact]:
    """Yield for each special token for how many relations the attending words give it less attention than others do.

    The token with the most attention comes first.
    """
    rows = established_rows(about.run)
    others = pd.DataFrame(rows, columns=["key_class", "others"]).groupby("key_class")["others"]
    means = others.mean().reindex(["sep", "cls"]).sort_values(ascending=False, kind="stable")
    gaps = [_difference(row) for row in rows]
    fewer, further = above(gaps, least=LEAST_SHARE), below(gaps, least=LEAST_SHARE)
    every = list(zip(rows, gaps, fewer, further, strict=True))
    for key_class in means.index[means >= LEAST_ATTENTION]:
        these = [each for each in every if each[0]["key_class"] == key_class]
        tested = sum(gap.exists and gap.has_interval for _, gap, _, _ in these)
        directions = {str(row["direction"]) for row, *_ in these}
        less = [(row, gap) for row, gap, is_less, _ in these if is_less]
        clearest: dict[str, Any] = {}
        if less:
            row, _ = max(less, key=lambda pair: pair[1].ci_low)
            clearest = {
                "head": about.kind(str(row["kind"])).head(row["layer"], row["head"]),
                "words": attending(str(row["relation"]), str(row["direction"])),
                "from_words": row["attending"],
                "from_others": row["others"],
            }
        yield Noop(
            token=token_name(key_class, about.words),
            direction=directions.pop() if len(directions) == 1 else "",
            less=len(less),
            more=sum(is_more for *_, is_more in these),
            tested=tested,
            untested=len(these) - tested,
            **clearest,
        )


def _difference(row: dict[str, Any]) -> Cell:
    """Return the other words' attention minus the attending words', with its interval; the table has the opposite."""
    gap, low, high = (-number(row[name]) for name in ("difference", "ci_high", "ci_low"))
    return Cell(gap, low, high, float("nan"), int(number(row["n_words"])))
