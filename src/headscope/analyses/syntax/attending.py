"""Which words attend in each relation, and what they give special tokens (section 3.2: attention as a no-op)."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.analyses.syntax.batch_arcs import Pointer
from headscope.analyses.syntax.head_answers import Answers


@dataclass(frozen=True, eq=False)
class Attending:
    """The words of a batch that attend in each relation and direction, each once however many arcs it has there.

    For `dependent->head` these are the relation's dependents, for `head->dependent` the head words of its
    dependents, for `both` all of these. A word without pieces has no row of attention: it attends in none. The first
    and the last word of an input are left out: a head that looks back, or ahead, finds nothing there but the special
    token beside it. Every other word is the dependent of one arc, so that the dependents of all relations are all
    these words, each once.

    Attributes:
        rows: which segment each is of, `[member]`.
        places: its place among the segment's words, `[member]`.
        cells: where it is counted: relation x direction, `[member]`.
    """

    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    cells: NDArray[np.int64]

    @classmethod
    def of(cls, pointer: Pointer, relations: NDArray[np.int64], *, directions: int) -> "Attending":
        """Collect the words.

        Args:
            pointer: the batch's arcs.
            relations: index of each arc's relation, `[arc]`.
            directions: how many there are: 2, or 3 with `both`.
        """
        rows, own, _, gold, _ = pointer.on_host
        sides = [(0, own), (1, gold)]
        if directions > len(sides):
            sides += [(2, own), (2, gold)]
        segments, width = pointer.axis.words.shape
        inner = _inner(rows, own, (segments, width))
        number = directions * (int(relations.max(initial=0)) + 1)
        keys = [
            ((rows * width + ends) * number + relations * directions + direction)[
                (ends >= 0) & inner[rows, ends]
            ]
            for direction, ends in sides
        ]
        # A head word of several dependents comes as often; once is enough.
        at, cells = np.divmod(np.unique(np.concatenate(keys)), number)
        rows, places = np.divmod(at, width)
        return cls(rows, places, cells)

    def given(self, rest: Tensor) -> Tensor:
        """Pick the members' attention out of `resting`'s table, `[member, layer, head, 2]` float64."""
        at = torch.from_numpy(np.stack([self.rows, self.places])).to(rest.device)
        picked: Tensor = rest[at[0], at[1]].double()
        return picked


def _inner(rows: NDArray[np.int64], own: NDArray[np.int64], shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Say which places are of words that have words on both sides, `[batch, place]`.

    Args:
        rows: which segment each word is of, `[word]`.
        own: its place, -1 without pieces, `[word]`.
        shape: segments and places.
    """
    is_word = np.zeros(shape, dtype=bool)
    is_word[rows[own >= 0], own[own >= 0]] = True
    before = np.maximum.accumulate(is_word, axis=1)
    behind = np.maximum.accumulate(is_word[:, ::-1], axis=1)[:, ::-1]
    inner = is_word.copy()
    inner[:, 1:] &= before[:, :-1]
    inner[:, :-1] &= behind[:, 1:]
    inner[:, 0] = inner[:, -1] = False
    return inner


def resting(answers: Answers, pointer: Pointer) -> Tensor:
    """Sum what every place gives to sep and to cls, `[batch, place, layer, head, 2]`.

    Args:
        answers: of the direction dependent->head, which are read off the rows of attention.
        pointer: the batch's arcs.
    """
    classes = pointer.classes.to(answers.special.dtype)
    return torch.einsum("bpslh,bsc->bplhc", answers.special.clamp(min=0), classes)


def rest_of(sums: NDArray[Any], relation: int, direction: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Split sums or counts into those of the words that attend in a relation and those of all other words.

    Args:
        sums: `[group, relation, direction, ...]`, see `Attending`.
        relation: its index.
        direction: its index.

    Returns:
        Both `[group, ...]`.
    """
    own = sums[:, relation, direction]
    return own, sums[:, :, 0].sum(1) - own
