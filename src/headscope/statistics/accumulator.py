"""What every accumulator is and does."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.groups import GROUPS, GroupedSums
from headscope.statistics.kept import Declared, Kept, State, Store, layout_state, read_layout

Span = Literal["rows", "layer", "stack"]
_SUMS = "sums."
Own = TypeVar("Own", bound="Accumulator")


class Accumulator(ABC):
    """Running sums over a stream of attention tiles.

    A subclass says in `declare` what it keeps, adds to it in `update` (or in `end`), and makes the result of it in
    `compute`; joining two, saving and reading back follow from the declaration. One that has options of its own says
    in `settings` what they are and in `with_settings` how one is made with them.

    The law, tested once for all: any split of the corpus, order, batch size, tile height and padding side
    give the same answer, and inputs are not changed.

    Args:
        layout: the kinds of attention and their sizes; None where the scan shall tell them (`open`).

    Attributes:
        needs: what it reads of a tile: its `weights`, its row `statistics`, what is `written`, the heads' `vectors`.
        span: how much must have come before it can count: single `rows`, a whole `layer` of a segment, or
            the same rows of the whole `stack` of layers.
        version: of its state; another version is refused.
        merges: what may be merged, as the error of `merge` ends.
        layout: the kinds of attention and their sizes.
        groups: of documents, at most, whose sums are kept apart.
        sums: what is kept by document.
        totals: what is kept of the whole corpus, by name.
        stores: what joins itself, by name.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"statistics"})
    span: ClassVar[Span] = "rows"
    version: ClassVar[int] = 1
    merges: ClassVar[str] = "; merge scans of one model only"
    layout: tuple[KindLayout, ...] = ()
    groups: int = GROUPS

    def __init__(self, layout: Sequence[KindLayout] | None = None) -> None:
        if layout is not None:
            self.open(layout)

    @property
    def is_open(self) -> bool:
        """Whether the sizes of the model are known, and with them those of the arrays."""
        return bool(self.layout)

    def open(self, layout: Sequence[KindLayout]) -> None:
        """Make the declared arrays, for a model of these sizes; nothing has been seen yet."""
        self.layout = tuple(layout)
        self._declared = dict(self.declare())
        each = [
            named
            for name, kept in self._declared.items()
            if isinstance(kept, Kept)
            for named in kept.arrays(name, self.layout)
        ]
        self._kept = dict(each)
        apart = {name: kept for name, kept in each if kept.by_document}
        self.sums = GroupedSums(
            {name: kept.shape for name, kept in apart.items()},
            groups=self.groups,
            dtypes={name: kept.dtype for name, kept in apart.items()},
        )
        self.totals = {name: kept.empty() for name, kept in each if not kept.by_document}
        self.stores: dict[str, Store] = {
            name: kept for name, kept in self._declared.items() if not isinstance(kept, Kept)
        }

    @abstractmethod
    def declare(self) -> Declared:
        """Say what is kept, by name: arrays that are `summed`, `counted`, a `total` or the `largest`, or stores.

        How arrays are declared stands in `statistics.kept`.

        `layout` and the accumulator's own options are known when it is asked.
        """

    def begin(self, batch: Batch) -> None:  # noqa: B027 (most have nothing to do then)
        """Start a batch of segments."""

    @abstractmethod
    def update(self, tile: AttentionTile) -> None:
        """Take one tile of the batch; the tile is not changed."""

    def end(self, batch: Batch) -> None:  # noqa: B027
        """Close the batch: all its tiles have come."""

    @abstractmethod
    def compute(self) -> Any:
        """Return the result; may be called at any time and changes nothing."""

    def add(self, tile: AttentionTile, **values: Any) -> None:
        """Add what a tile gives for each segment of the batch to declared arrays, or join it as they are joined.

        Args:
            tile: says which documents, which kind and, for an array whose first axis is `layer`, which layer.
            **values: arrays, tensors or numbers by the name declared, `[batch, ...]` with the declared axes but `layer`
                and `kind`; what is the same for all may be given once.

        Raises:
            ValueError: a name was not declared, or the shape is another.
        """
        for name, value in values.items():
            declared = self._declared.get(name)
            if not isinstance(declared, Kept):
                known = ", ".join(name for name, kept in self._declared.items() if isinstance(kept, Kept))
                raise ValueError(f"{type(self).__name__} keeps no array {name!r}; it declares {known}")
            array_name = f"{name}.{tile.kind}" if declared.each_kind else name
            places = (tile.layer,) if declared.by_layer else ()
            documents = tile.queries.documents
            expected = (len(documents), *self._kept[array_name].shape[len(places) :])
            array = declared.cast(value, expected, name)
            if not declared.by_document:
                whole = self.totals[array_name]
                whole[places] = declared.join(whole[places], declared.join.reduce(array, axis=0))
                continue
            for document, part in zip(documents, array, strict=True):
                if places:
                    self.sums.add_at(document, np.array(places), **{array_name: part[None]})
                else:
                    self.sums.add(document, **{array_name: part})

    def settings(self) -> State:
        """Return the options that the sums depend on beside the layout, as named arrays; none unless overridden."""
        return {}

    @classmethod
    def with_settings(
        cls: type[Own], layout: Sequence[KindLayout], settings: Mapping[str, NDArray[Any]]
    ) -> Own:
        """Make an empty one for a layout with what `settings` returned (other names stand beside it)."""
        return cls(layout)

    def described(self) -> str:
        """Return in words what the sums are over, for the error of `merge`."""
        return str(self.layout)

    def merge(self, other: Any) -> None:
        """Add what another accumulator of the same class and signature saw.

        Raises:
            ValueError: it is of another class, watched a model of another shape, or has other options.
        """
        if type(other) is not type(self):
            raise ValueError(f"expected another {type(self).__name__} to merge, came {type(other).__name__}")
        if not other.is_open:
            return
        if not self.is_open:
            self.open(other.layout)
        ours, theirs = ({**layout_state(each.layout), **each.settings()} for each in (self, other))
        if ours.keys() != theirs.keys() or not all(np.array_equal(ours[name], theirs[name]) for name in ours):
            raise ValueError(f"expected sums over {self.described()}, came {other.described()}{self.merges}")
        self.sums.merge(other.sums)
        for name, array in other.totals.items():
            self.totals[name] = self._kept[name].join(self.totals[name], array)
        for name, store in other.stores.items():
            self.stores[name].merge(store)

    def state(self) -> State:
        """Return everything that was kept and what it is of, as named arrays (saved as safetensors)."""
        if not self.is_open:
            self.open(())
        state: State = {
            f"{type(self).__name__}.version": np.array(self.version),
            **layout_state(self.layout),
            **self.settings(),
            **{name: array.copy() for name, array in self.totals.items()},
        }
        for name, store in self.stores.items():
            state.update({f"{name}.{key}": array for key, array in store.state().items()})
        if self.sums.shapes:
            state.update({_SUMS + key: array for key, array in self.sums.state().items()})
        return state

    @classmethod
    def from_state(cls: type[Own], state: Mapping[str, NDArray[Any]]) -> Own:
        """Rebuild from `state()`; arrays of other accumulators may stand beside its own.

        Raises:
            ValueError: another version or class wrote it, or its arrays are not those that are declared.
        """
        cls.check_version(state)
        accumulator = cls.with_settings(read_layout(state), state)
        for name, kept in accumulator._kept.items():
            key = _SUMS + name if kept.by_document else name
            shape = None if key not in state else state[key].shape[1 if kept.by_document else 0 :]
            if shape != kept.shape:
                came = "none" if shape is None else str(list(shape))
                raise ValueError(
                    f"expected the state of {cls.__name__} to hold {key} of shape {list(kept.shape)}, found {came}; "
                    "compute it again"
                )
            if not kept.by_document:
                accumulator.totals[name] = np.array(state[key], dtype=kept.dtype)
        if accumulator.sums.shapes:
            accumulator.sums = GroupedSums.from_state(state, prefix=_SUMS)
        for name, store in accumulator.stores.items():
            start = f"{name}."
            own_state = {n.removeprefix(start): array for n, array in state.items() if n.startswith(start)}
            store.restore(own_state)
        return accumulator

    @classmethod
    def check_version(cls, state: Mapping[str, NDArray[Any]]) -> None:
        """Refuse a state that another version or class wrote.

        Raises:
            ValueError: says what was expected and what came.
        """
        came = state.get(f"{cls.__name__}.version")
        if came is None or int(np.asarray(came).item()) != cls.version:
            written = "none" if came is None else f"version {int(np.asarray(came).item())}"
            raise ValueError(
                f"expected the state of {cls.__name__}, version {cls.version}, found {written}; compute it again"
            )
