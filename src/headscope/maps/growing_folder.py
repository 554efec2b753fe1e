"""A folder of saved attention maps while it is written: shards of limited size, then the index."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.maps.index import STORES, MapEntry, MapsIndex, Mask, Shard, default_mask, write_index
from headscope.storage.atomic import whole_or_absent

SHARD_BYTES = 256 << 20


class MapsFolder:
    """Write maps segment by segment; use as a context manager.

    The folder appears complete when the block ends without an error: until then everything is written to a temporary
    folder next to it, which is removed after an error or Ctrl-C.

    Args:
        path: folder to make.
        index: what is known before the first segment.
        shard_bytes: size at which a shard is closed; at most this many bytes are held in memory, or one segment if that
            is more.
        replace: whether an existing folder at `path` is replaced.

    Raises:
        OutputError: `path` exists and may not be replaced.
        ValueError: an unknown `store` in the index.
    """

    def __init__(
        self, path: str | Path, index: MapsIndex, *, shard_bytes: int = SHARD_BYTES, replace: bool = False
    ) -> None:
        if index.store not in STORES:
            raise ValueError(f"store {index.store!r} is not known; choose one of {', '.join(STORES)}")
        self.path = Path(path)
        self.index = index
        self.dtype = np.dtype(index.store)
        self.bytes = 0
        self._shard_bytes = shard_bytes
        self._place = whole_or_absent(self.path, replace=replace)
        self._folder = self.path
        self._open: dict[str, NDArray[Any]] = {}
        self._shards: list[Shard] = []
        self._masks: list[Mask] = []
        self._mask_numbers: dict[tuple[int, int, bytes], int] = {}
        self._entries: list[MapEntry] = []

    def __enter__(self) -> "MapsFolder":
        self._folder = self._place.__enter__()
        self._folder.mkdir()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._close_shard()
                shards, masks, entries = tuple(self._shards), tuple(self._masks), tuple(self._entries)
                write_index(replace(self.index, shards=shards, masks=masks, entries=entries), self._folder)
        except BaseException as problem:
            self._place.__exit__(type(problem), problem, problem.__traceback__)
            raise
        self._place.__exit__(kind, error, trace)

    @property
    def segments(self) -> int:
        """Segments added so far."""
        return len(self._entries)

    def put_in_order(self, key: Callable[[MapEntry], int]) -> None:
        """Sort the entries; they are read back in this order."""
        self._entries.sort(key=key)

    def add(
        self, entry: MapEntry, maps: Mapping[str, NDArray[Any]], visible: Mapping[str, NDArray[np.bool_]] | None = None
    ) -> None:
        """Add a segment.

        Args:
            entry: entry of the index; `shard`, `name` and `masks` are filled in here.
            maps: for each kind of the layout, `[layer, head, query, key]`.
            visible: for each kind, the keys that a row may attend to, `[layer, query, key]`; None for the kinds'
                default masks.
        """
        name = str(len(self._entries) + 1)
        masks = {}
        for kind, layers in (visible or {}).items():
            numbers = [self._mask_number(kind, layer) for layer in layers]
            if any(number is not None for number in numbers):
                masks[kind] = numbers
        for kind, weights in maps.items():
            self._open[f"{name}.{kind}"] = np.ascontiguousarray(weights, dtype=self.dtype)
        self._entries.append(replace(entry, shard=len(self._shards), name=name, masks=masks))
        if sum(array.nbytes for array in self._open.values()) >= self._shard_bytes:
            self._close_shard()

    def _mask_number(self, kind: str, visible: NDArray[np.bool_]) -> int | None:
        """Return the number of a mask, and store it the first time; None for the kind's default."""
        rows, keys = visible.shape
        if np.array_equal(visible, default_mask(kind, rows, keys)):
            return None
        bits = np.packbits(visible, axis=None)
        key = (rows, keys, blake2b(bits.tobytes(), digest_size=16).digest())
        if key not in self._mask_numbers:
            number = self._mask_numbers[key] = len(self._masks)
            self._masks.append(Mask(shard=len(self._shards), name=f"mask.{number + 1}", rows=rows, keys=keys))
            self._open[f"mask.{number + 1}"] = bits
        return self._mask_numbers[key]

    def _close_shard(self) -> None:
        if not self._open:
            return
        from safetensors.numpy import save

        # As bytes, not by save_file, which hides "no space left on device" in an error of its own.
        content = save(self._open)
        file = f"maps-{len(self._shards) + 1:05d}.safetensors"
        (self._folder / file).write_bytes(content)
        self._shards.append(Shard(file=file, bytes=len(content), hash=blake2b(content, digest_size=16).hexdigest()))
        self.bytes += len(content)
        self._open = {}
