"""A few tokens with their vectors, the same for all heads: those with the smallest hashes (a store)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.kept import State

BEFORE, AFTER = 5, 5
"""Tokens that are kept on either side of a token."""
TOKEN = np.dtype(
    [
        ("hash", np.uint64),
        ("position", np.int32),
        ("class", np.uint8),
        ("ids", np.int32, BEFORE + 1 + AFTER),
    ]
)
"""A token: its hash, position in its input, `KeyClass`, ids of the tokens around it."""
_LARGEST = int(np.iinfo(np.uint64).max)

Segment = tuple[str, int]
Side = tuple[str, int]
"""Whose vectors (`query`, `key`, `output`), and of which layer from 0."""
Vectors = Mapping[Side, NDArray[np.float16]]


class TokenSample:
    """Of all tokens along an axis those with the smallest hashes, with every head's vectors there.

    What came first does not matter.

    Args:
        most: tokens kept.
    """

    def __init__(self, *, most: int) -> None:
        self.most = most
        self._tokens = np.zeros(0, dtype=TOKEN)
        self._segments: list[Segment] = []
        self._vectors: dict[Side, NDArray[np.float16]] = {}

    @property
    def least(self) -> int:
        """What a token's hash must lie below to be kept: the largest that is, once there are enough."""
        return int(self._tokens["hash"].max()) if len(self._tokens) == self.most else _LARGEST

    def offer(self, tokens: NDArray[Any], segments: Sequence[Segment], vectors: Vectors) -> None:
        """Take in tokens, of which those are kept whose hashes are among the smallest.

        Args:
            tokens: of `TOKEN`.
            segments: document and index of the input of each.
            vectors: `[token, head, width]` of each side and layer.

        Raises:
            ValueError: the vectors are of other layers than those that are kept.
        """
        if not len(tokens):
            return
        if len(self._tokens) and self._vectors.keys() != vectors.keys():
            raise ValueError(
                f"expected vectors of {len(self._vectors)} layers and sides, came {len(vectors)}; merge scans of one "
                "model only"
            )
        before = len(self._tokens)
        hashes = np.concatenate([self._tokens["hash"], tokens["hash"]])
        chosen = np.argsort(hashes, kind="stable")[: self.most]
        new = np.sort(chosen[chosen >= before]) - before
        # In the places of those that go; the rest, while there is room, behind them.
        free = np.setdiff1d(np.arange(before), chosen)
        put, more = new[: len(free)], new[len(free) :]
        self._tokens[free] = tokens[put]
        self._tokens = np.concatenate([self._tokens, tokens[more]])
        for place, own in zip(free.tolist(), put.tolist(), strict=True):
            self._segments[place] = segments[own]
        self._segments += [segments[own] for own in more.tolist()]
        for side, own in vectors.items():
            kept = self._vectors.get(side)
            if kept is None:
                kept = np.zeros((0, *own.shape[1:]), dtype=np.float16)
            kept[free] = own[put]
            self._vectors[side] = np.concatenate([kept, own[more]]) if len(more) else kept

    def rows(self) -> tuple[NDArray[Any], list[Segment], dict[Side, NDArray[np.float16]]]:
        """Return the tokens, their inputs and their vectors, by hash."""
        order = np.argsort(self._tokens["hash"], kind="stable")
        segments = [self._segments[place] for place in order.tolist()]
        return self._tokens[order], segments, {side: own[order] for side, own in self._vectors.items()}

    def merge(self, other: "TokenSample") -> None:
        """Take in what another kept."""
        self.offer(*other.rows())

    def state(self) -> State:
        """Return the tokens, column by column, their inputs and vectors."""
        tokens, segments, vectors = self.rows()
        state: State = {name: np.ascontiguousarray(tokens[name]) for name in TOKEN.names or ()}
        state["segments"] = np.frombuffer(json.dumps(segments).encode(), dtype=np.uint8).copy()
        state.update({f"vectors.{side}.{layer}": own for (side, layer), own in vectors.items()})
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take up what `state()` returned."""
        tokens = np.zeros(len(state["hash"]), dtype=TOKEN)
        for name in TOKEN.names or ():
            tokens[name] = state[name]
        vectors = {}
        for name, own in state.items():
            if name.startswith("vectors."):
                _, side, layer = name.split(".")
                vectors[side, int(layer)] = np.asarray(own)
        segments = [(document, index) for document, index in json.loads(bytes(state["segments"]))]
        self.offer(tokens, segments, vectors)
