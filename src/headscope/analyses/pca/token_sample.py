"""A sample of tokens with their vectors, the same for all heads: those with the smallest hashes (a store)."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.statistics.kept import State

BEFORE, AFTER = 5, 5
"""Number of tokens kept on either side of a token."""
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
"""Side (`query`, `key`, `output`) and 0-based layer."""
Vectors = Mapping[Side, NDArray[np.float16]]


class TokenSample:
    """The tokens of an axis with the smallest hashes, with every head's vectors.

    The order in which tokens come does not matter.

    Args:
        most: number of tokens kept.
    """

    def __init__(self, *, most: int) -> None:
        self.most = most
        self._tokens = np.zeros(0, dtype=TOKEN)
        self._segments: list[Segment] = []
        self._vectors: dict[Side, NDArray[np.float16]] = {}

    @property
    def least(self) -> int:
        """The bound below which a token's hash is kept: the largest kept hash, once the sample is full."""
        return int(self._tokens["hash"].max()) if len(self._tokens) == self.most else _LARGEST

    def offer(self, tokens: NDArray[Any], segments: Sequence[Segment], vectors: Vectors) -> None:
        """Add tokens; those whose hashes are among the smallest are kept.

        Args:
            tokens: of `TOKEN`.
            segments: document and index of each token's input.
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
        smallest = np.argsort(hashes, kind="stable")[: self.most]
        new = np.sort(smallest[smallest >= before]) - before
        # New tokens take the slots of dropped ones first, and then the free slots behind them.
        free = np.setdiff1d(np.arange(before), smallest)
        put, more = new[: len(free)], new[len(free) :]
        self._tokens[free] = tokens[put]
        self._tokens = np.concatenate([self._tokens, tokens[more]])
        for slot, number in zip(free.tolist(), put.tolist(), strict=True):
            self._segments[slot] = segments[number]
        self._segments += [segments[number] for number in more.tolist()]
        for side, number in vectors.items():
            stored = self._vectors.get(side)
            if stored is None:
                stored = np.zeros((0, *number.shape[1:]), dtype=np.float16)
            stored[free] = number[put]
            self._vectors[side] = np.concatenate([stored, number[more]]) if len(more) else stored

    def rows(self) -> tuple[NDArray[Any], list[Segment], dict[Side, NDArray[np.float16]]]:
        """Return the tokens, their inputs and their vectors, by hash."""
        order = np.argsort(self._tokens["hash"], kind="stable")
        segments = [self._segments[number] for number in order.tolist()]
        return self._tokens[order], segments, {side: values[order] for side, values in self._vectors.items()}

    def merge(self, other: "TokenSample") -> None:
        """Add the tokens of another sample."""
        self.offer(*other.rows())

    def state(self) -> State:
        """Return the tokens, column by column, their inputs and vectors."""
        tokens, segments, vectors = self.rows()
        state: State = {name: np.ascontiguousarray(tokens[name]) for name in TOKEN.names or ()}
        state["segments"] = np.frombuffer(json.dumps(segments).encode(), dtype=np.uint8).copy()
        state.update({f"vectors.{side}.{layer}": values for (side, layer), values in vectors.items()})
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore what `state()` returned."""
        tokens = np.zeros(len(state["hash"]), dtype=TOKEN)
        for name in TOKEN.names or ():
            tokens[name] = state[name]
        vectors = {}
        for name, values in state.items():
            if name.startswith("vectors."):
                _, side, layer = name.split(".")
                vectors[side, int(layer)] = np.asarray(values)
        segments = [(document, index) for document, index in json.loads(bytes(state["segments"]))]
        self.offer(tokens, segments, vectors)
