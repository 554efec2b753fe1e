"""The declarations of an accumulator's state: named arrays, and the rule for merging two arrays of the same name."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike, NDArray
from torch import Tensor

from headscope.attention.head_id import KINDS
from headscope.models.anatomy import KindLayout

State = dict[str, NDArray[Any]]
Axis = int | str


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The declaration of a named array of an accumulator, or of an array for each kind of attention.

    Attributes:
        axes: the sizes of its axes. `layer` and `head` are the sizes of a kind of attention, `head+1` adds an index for
            uniform attention, and `kind` adds no axis; any of the four makes an array for each kind, called
            `name.kind`.
        dtype: the type of its numbers.
        by_document: True if each document has a separate array (each of 256 groups, if there are more documents), so
            that documents can be resampled; otherwise there is one array for the whole corpus.
        join: the function that merges two arrays; the order does not matter.
        start: the value before the first update.
    """

    axes: tuple[Axis, ...]
    dtype: DTypeLike = np.float64
    by_document: bool = False
    join: np.ufunc = np.add
    start: float = 0.0

    @property
    def each_kind(self) -> bool:
        """True if there is one array for each kind of attention."""
        return any(isinstance(axis, str) for axis in self.axes)

    @property
    def by_layer(self) -> bool:
        """True if its first axis is the layer, so that a tile fills one index of it."""
        return next((axis for axis in self.axes if axis != "kind"), None) == "layer"

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the axes, once all of them are numbers."""
        return tuple(axis for axis in self.axes if isinstance(axis, int))

    def arrays(self, name: str, layout: Sequence[KindLayout]) -> Iterator[tuple[str, "Kept"]]:
        """Yield the name of each array, and its declaration with sizes in place of names of axes.

        Raises:
            ValueError: an axis has an unknown name.
        """
        if not self.each_kind:
            yield name, self
            return
        for part in layout:
            sizes = {"layer": part.layers, "head": part.heads, "head+1": part.heads + 1, "kind": None}
            for axis in self.axes:
                if isinstance(axis, str) and axis not in sizes:
                    raise ValueError(f"{name} has an axis {axis!r}; expected a size, or one of {', '.join(sizes)}")
            axes = (sizes[axis] if isinstance(axis, str) else axis for axis in self.axes)
            yield f"{name}.{part.kind}", replace(self, axes=tuple(size for size in axes if size is not None))

    def empty(self) -> NDArray[Any]:
        """Return the array before the first update."""
        return np.full(self.shape, self.start, dtype=self.dtype)

    def cast(self, values: Any, shape: tuple[int, ...], name: str) -> NDArray[Any]:
        """Return values in the type of the array, broadcast to a shape whose first axis is the segments of a batch.

        Raises:
            ValueError: the shape differs, or counts are not whole numbers; the message calls the values `name`.
        """
        array = np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values)
        try:
            array = np.broadcast_to(array, shape)
        except ValueError as error:
            raise ValueError(
                f"expected {name} as {list(shape)}, of {shape[0]} segments, came {list(array.shape)}"
            ) from error
        with np.errstate(invalid="ignore"):
            cast = array.astype(self.dtype)
        if np.issubdtype(self.dtype, np.integer) and not np.array_equal(cast, array):
            raise ValueError(f"{name} counts, and came with numbers that are not whole; declare it summed")
        return cast


def summed(*axes: Axis) -> Kept:
    """Declare float64 sums of each document."""
    return Kept(axes=axes, by_document=True)


def counted(*axes: Axis) -> Kept:
    """Declare int32 counts of each document."""
    return Kept(axes=axes, dtype=np.int32, by_document=True)


def total(*axes: Axis, dtype: DTypeLike = np.float64) -> Kept:
    """Declare sums over the whole corpus, which give no interval."""
    return Kept(axes=axes, dtype=dtype)


def largest(*axes: Axis) -> Kept:
    """Declare the largest values of the whole corpus, -inf before the first."""
    return Kept(axes=axes, join=np.maximum, start=-np.inf)


@runtime_checkable
class Store(Protocol):
    """A part of the state that merges itself, because a merging rule for arrays does not fit: a list of the best."""

    def merge(self, other: Any) -> None:
        """Add the content of another store of the same kind; the order must not matter."""

    def state(self) -> State:
        """Return the content as named arrays."""

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore the content from `state()`; the store is empty before."""


Declared = Mapping[str, Kept | Store]


def in_single_precision(state: Mapping[str, NDArray[Any]]) -> State:
    """Return a finished stage's sums rounded to float32, which is more precise than their sampling error.

    They stay float64, so that more can be added to them; a file stores them in half the bytes. Sums that are still to
    be merged are not rounded, so that the result has the same digits however a scan is split.
    """
    rounded = {}
    for name, array in state.items():
        rounded[name] = array.astype(np.float32).astype(np.float64) if array.dtype == np.float64 else array
    return rounded


def within(state: Mapping[str, NDArray[Any]], prefix: str) -> State:
    """Return the arrays whose names begin with a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}


def layout_state(layout: Sequence[KindLayout]) -> State:
    """Return the sizes of the kinds of attention, as part of an accumulator's state."""
    return {f"layout.{part.kind}": np.array([part.layers, part.heads]) for part in layout}


def read_layout(state: Mapping[str, NDArray[Any]]) -> list[KindLayout]:
    """Read the layout that `layout_state` wrote."""
    kinds = [name.removeprefix("layout.") for name in state if name.startswith("layout.")]
    # Names end with one of `KINDS`; those of a second model have a prefix.
    kinds.sort(key=lambda kind: (kind not in KINDS, KINDS.index(kind.split()[-1])))
    return [
        KindLayout(kind, layers=int(state[f"layout.{kind}"][0]), heads=int(state[f"layout.{kind}"][1]))
        for kind in kinds
    ]
