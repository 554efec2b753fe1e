"""The base class of all accumulators: declared state, and everything that follows from the declaration."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from headscope.attention.host_copy import HostCopy, SegmentSums
from headscope.attention.tile import AttentionTile
from headscope.encoding.batching import Batch
from headscope.models.anatomy import KindLayout
from headscope.statistics.sums.groups import GROUPS, GroupedSums
from headscope.statistics.sums.kept import Declared, Kept, State, Store, layout_state, read_layout, within

Span = Literal["rows", "layer", "stack"]
_SUMS = "sums."
Own = TypeVar("Own", bound="Accumulator")


class Accumulator(ABC):
    """Running sums over a stream of attention tiles.

    A subclass declares its arrays in `declare`, adds to them in `update` (or in `end`), and computes the result in
    `compute`. Merging, saving and loading follow from the declaration. A subclass with options names those on which its
    sums depend in `parameters`.

    A contract test checks every accumulator: any split of the corpus, order, batch size, tile height and padding side
    give the same result, and inputs are not changed.

    Args:
        layout: the kinds of attention and their sizes; None if the scan passes them later (`open`).

    Attributes:
        needs: the parts of a tile that it reads: `weights`, row `statistics`, `written`, the heads' `vectors`.
        span: the unit that must be complete before an update: single `rows`, a whole `layer` of a segment, or the same
            rows of the whole `stack` of layers.
        parameters: the arguments of its constructor, besides the layout, on which its sums depend; each is an
            attribute.
        version: the version of its state; `from_state` rejects other versions.
        merges: last part of the error message of `merge`, which names what can be merged.
        layout: the kinds of attention and their sizes.
        groups: the largest number of groups of documents with separate sums.
        sums: the arrays that are kept for each document.
        totals: the arrays that are kept for the whole corpus, by name.
        stores: the parts of the state that merge themselves, by name.
        segment_sums: sums over the rows of the segments of the batch.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"statistics"})
    span: ClassVar[Span] = "rows"
    parameters: ClassVar[tuple[str, ...]] = ()
    version: ClassVar[int] = 2
    merges: ClassVar[str] = "; merge scans of one model only"
    layout: tuple[KindLayout, ...] = ()
    groups: int = GROUPS

    def __init__(self, layout: Sequence[KindLayout] | None = None) -> None:
        if layout is not None:
            self.open(layout)

    @property
    def is_open(self) -> bool:
        """True if the sizes of the model, and therefore of the arrays, are known."""
        return bool(self.layout)

    def open(self, layout: Sequence[KindLayout]) -> None:
        """Create the declared arrays, empty, for a model of these sizes."""
        self.layout = tuple(layout)
        self.segment_sums = SegmentSums()
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
        """Return the declaration of the state, by name: `summed`, `counted`, `total` and `largest` arrays, and stores.

        `sums.kept` documents these declarations. `layout` and the options are set before this method is called.
        """

    def begin(self, batch: Batch) -> None:
        """Start a batch of segments."""
        self.segment_sums = SegmentSums()

    @abstractmethod
    def update(self, tile: AttentionTile) -> None:
        """Add a tile of the batch; the tile is not changed."""

    def hand_over(self, copy: HostCopy) -> None:
        """Queue the batch's sums for the copy to the host; the scan waits once for all accumulators, before `end`."""
        self.segment_sums.hand_over(copy)

    def end(self, batch: Batch) -> None:  # noqa: B027 (most accumulators do nothing at this point)
        """Finish the batch, after all its tiles."""

    @abstractmethod
    def compute(self) -> Any:
        """Return the result; it can be called at any time and changes nothing."""

    def add(self, tile: AttentionTile, **values: Any) -> None:
        """Add the values of a tile, one for each segment of the batch, to declared arrays.

        Args:
            tile: tile with the documents, the kind and, for an array whose first axis is `layer`, the layer.
            **values: arrays, tensors or numbers by declared name, `[batch, ...]` with the declared axes except `layer`
                and `kind`; a value that is the same for all segments may be passed once.

        Raises:
            ValueError: a name is not declared, or a shape differs from the declaration.
        """
        self._add(tile.queries.documents, tile.kind, [tile.layer], values, of_layer=True)

    def add_segments(self, batch: Batch, kind: str, layers: Sequence[int], **values: Any) -> None:
        """Add values of the segments of a batch to declared arrays, of several layers at once.

        Args:
            batch: batch with the documents.
            kind: the kind of attention.
            layers: the layers.
            **values: as for `add`, `[batch, layer, ...]` where the first declared axis is `layer`.

        Raises:
            ValueError: a name is not declared, or a shape differs from the declaration.
        """
        self._add(batch.info.documents, kind, layers, values)

    def _add(
        self,
        documents: Sequence[str],
        kind: str,
        layers: Sequence[int],
        values: Mapping[str, Any],
        *,
        of_layer: bool = False,
    ) -> None:
        """Add values by name; with `of_layer` they have no layer axis and belong to a single layer."""
        by_document: dict[bool, dict[str, NDArray[Any]]] = {}
        for name, value in values.items():
            declared = self._declared.get(name)
            if not isinstance(declared, Kept):
                known = ", ".join(name for name, kept in self._declared.items() if isinstance(kept, Kept))
                raise ValueError(f"{type(self).__name__} keeps no array {name!r}; it declares {known}")
            array_name = f"{name}.{kind}" if declared.each_kind else name
            shape = self._kept[array_name].shape
            if declared.by_layer:
                shape = shape[1:] if of_layer else (len(layers), *shape[1:])
            array = declared.cast(value, (len(documents), *shape), name)
            if declared.by_layer and of_layer:
                array = array[:, None]
            if declared.by_document:
                by_document.setdefault(declared.by_layer, {})[array_name] = array
            else:
                whole, index = self.totals[array_name], list(layers) if declared.by_layer else ...
                whole[index] = declared.join(whole[index], declared.join.reduce(array, axis=0))
        for by_layer, arrays in by_document.items():
            for item, document in enumerate(documents):
                parts = {name: array[item] for name, array in arrays.items()}
                if by_layer:
                    self.sums.add_at(document, np.array(layers), **parts)
                else:
                    self.sums.add(document, **parts)

    def settings(self) -> dict[str, Any]:
        """Return the `parameters` by name, arrays and plain values: the settings on which the sums depend."""
        return {name: getattr(self, name) for name in self.parameters}

    @classmethod
    def with_settings(cls: type[Own], layout: Sequence[KindLayout], settings: Mapping[str, Any]) -> Own:
        """Create an empty accumulator from a layout and the result of `settings`."""
        return cls(layout, **settings)

    def described(self) -> str:
        """Describe the layout and settings of the sums, for the error message of `merge`."""
        plain = [f"{name} {value}" for name, value in self.settings().items() if not isinstance(value, np.ndarray)]
        return f"{self.layout} with {', '.join(plain)}" if plain else str(self.layout)

    def merge(self, other: Any) -> None:
        """Add the sums of another accumulator of the same class and signature.

        Raises:
            ValueError: the other is of another class, of a model of another shape, or has other options.
        """
        if type(other) is not type(self):
            raise ValueError(f"expected another {type(self).__name__} to merge, came {type(other).__name__}")
        if not other.is_open:
            return
        if not self.is_open:
            self.open(other.layout)
        ours, theirs = (each._settings_state() for each in (self, other))
        if ours.keys() != theirs.keys() or not all(np.array_equal(ours[name], theirs[name]) for name in ours):
            raise ValueError(f"expected sums over {self.described()}, came {other.described()}{self.merges}")
        self.sums.merge(other.sums)
        for name, array in other.totals.items():
            self.totals[name] = self._kept[name].join(self.totals[name], array)
        for name, store in other.stores.items():
            self.stores[name].merge(store)

    def state(self) -> State:
        """Return the whole state, with layout and settings, as named arrays (saved as safetensors)."""
        if not self.is_open:
            self.open(())
        state: State = {
            f"{type(self).__name__}.version": np.array(self.version),
            **self._settings_state(),
            **{name: array.copy() for name, array in self.totals.items()},
        }
        for name, store in self.stores.items():
            state.update({f"{name}.{key}": array for key, array in store.state().items()})
        if self.sums.shapes:
            state.update({_SUMS + key: array for key, array in self.sums.state().items()})
        return state

    @classmethod
    def from_state(cls: type[Own], state: Mapping[str, NDArray[Any]]) -> Own:
        """Rebuild an accumulator from `state()`; arrays of other accumulators may be present.

        Raises:
            ValueError: another version or class wrote the state, or its arrays differ from the declaration.
        """
        cls.check_version(state)
        accumulator = cls.with_settings(read_layout(state), cls._read_settings(state))
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
            store.restore(within(state, f"{name}."))
        return accumulator

    def _settings_state(self) -> State:
        """Return layout and settings as named arrays: plain values together as JSON."""
        arrays = {name: value for name, value in self.settings().items() if isinstance(value, np.ndarray)}
        plain = {name: value for name, value in self.settings().items() if name not in arrays}
        name = f"{type(self).__name__}.settings"
        return {
            **layout_state(self.layout),
            name: np.frombuffer(json.dumps(plain).encode(), dtype=np.uint8).copy(),
            **{f"{name}.{key}": array for key, array in arrays.items()},
        }

    @classmethod
    def _read_settings(cls, state: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """Read the settings from the arrays of `_settings_state`."""
        name = f"{cls.__name__}.settings"
        return {**json.loads(bytes(state[name])), **within(state, f"{name}.")}

    @classmethod
    def check_version(cls, state: Mapping[str, NDArray[Any]]) -> None:
        """Check that the state has this class and version.

        Raises:
            ValueError: the version differs; the message names both.
        """
        came = state.get(f"{cls.__name__}.version")
        if came is None or int(np.asarray(came).item()) != cls.version:
            written = "none" if came is None else f"version {int(np.asarray(came).item())}"
            raise ValueError(
                f"expected the state of {cls.__name__}, version {cls.version}, found {written}; compute it again"
            )
