"""What every accumulator is and does."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from headscope.attention.tile import KINDS, AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout

Span = Literal["rows", "layer", "stack"]
State = dict[str, NDArray[Any]]


def layout_state(layout: Sequence[KindLayout]) -> State:
    """Return the sizes of the kinds of attention, as part of an accumulator's state."""
    return {f"layout.{part.kind}": np.array([part.layers, part.heads]) for part in layout}


def read_layout(state: Mapping[str, NDArray[Any]]) -> list[KindLayout]:
    """Read the layout that `layout_state` wrote."""
    return [
        KindLayout(kind, *(int(number) for number in state[f"layout.{kind}"]))
        for kind in KINDS
        if f"layout.{kind}" in state
    ]


class Accumulator(ABC):
    """Running sums over a stream of attention tiles.

    The law, tested once for all: any split of the corpus, order, batch size, tile height and padding side
    give the same answer, and inputs are not changed.

    Attributes:
        needs: what it reads of a tile: its `weights`, its row `statistics`.
        span: how much must have come before it can count: single `rows`, a whole `layer` of a segment, or
            the same rows of the whole `stack` of layers.
        version: of its state; another version is refused.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"statistics"})
    span: ClassVar[Span] = "rows"
    version: ClassVar[int] = 1

    @abstractmethod
    def begin(self, batch: Batch) -> None:
        """Start a batch of segments."""

    @abstractmethod
    def update(self, tile: AttentionTile) -> None:
        """Take one tile of the batch; the tile is not changed."""

    @abstractmethod
    def end(self, batch: Batch) -> None:
        """Close the batch: all its tiles have come."""

    @abstractmethod
    def merge(self, other: Any) -> None:
        """Add what another accumulator of the same signature saw."""

    @abstractmethod
    def compute(self) -> Any:
        """Return the result; may be called at any time and changes nothing."""

    @abstractmethod
    def state(self) -> State:
        """Return everything that was summed, as named arrays (saved as safetensors)."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Mapping[str, NDArray[Any]]) -> "Accumulator":
        """Rebuild from `state()`.

        Raises:
            ValueError: another version or class wrote it.
        """

    @classmethod
    def check_version(cls, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that another version or class wrote.

        Raises:
            ValueError: says what was expected and what came.
        """
        came = state.get(f"{cls.__name__}.version")
        if came is None or int(np.asarray(came).item()) != cls.version:
            found = "none" if came is None else f"version {int(np.asarray(came).item())}"
            raise ValueError(
                f"expected the state of {cls.__name__}, version {cls.version}, found {found}; compute it again"
            )
