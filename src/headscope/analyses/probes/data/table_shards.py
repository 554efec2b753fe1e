"""Tables of attention on disk: float16, in shards that are read through memory maps."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.storage.bounded import UnreadableFileError, read_json

SHARD_BYTES = 256 << 20
_VERSION = 1
_INDEX, _ABOUT = "index.npy", "about.json"
_MOST_ABOUT = 1 << 20  # bytes
# Of a sentence in the index.
_NUMBER, _SHARD, _OFFSET, _WIDTH = range(4)


class ShardWriter:
    """Write sentences' tables, `[place, place, head]`, one behind the other.

    Args:
        folder: where; it is made, and is a set of tables only after `close`.
        heads: length of the last axis.
        shard_bytes: a new file is begun when one has so many bytes.
    """

    def __init__(self, folder: Path, *, heads: int, shard_bytes: int = SHARD_BYTES) -> None:
        folder.mkdir(parents=True)
        self.folder, self.heads, self.shard_bytes = folder, heads, shard_bytes
        self._rows: list[tuple[int, int, int, int]] = []
        self._shard, self._offset = 0, 0
        self._file = self._open()

    def add(self, number: int, table: NDArray[np.float16]) -> None:
        """Write the table of a sentence; `number` is its place in the treebank."""
        if self._offset * 2 >= self.shard_bytes:
            self._file.close()
            self._shard, self._offset = self._shard + 1, 0
            self._file = self._open()
        self._file.write(np.ascontiguousarray(table).data)
        self._rows.append((number, self._shard, self._offset, len(table)))
        self._offset += table.size

    def close(self, *, about: Mapping[str, Any]) -> None:
        """Write the index and `about`, words on where the tables came from."""
        self._file.close()
        index = np.array(sorted(self._rows), dtype=np.int64).reshape(-1, 4)
        np.save(self.folder / _INDEX, index)
        facts = {"version": _VERSION, "heads": self.heads, **about}
        (self.folder / _ABOUT).write_text(json.dumps(facts, indent=2), encoding="utf-8")

    def _open(self) -> Any:
        return (self.folder / _shard_name(self._shard)).open("wb")


class WordMaps:
    """Attention between the words of a treebank, sentence by sentence, off the disk.

    Place 0 of a table is the first special token of the input, place 1 the last (zeros where there is none), then
    come the words; `table[i, j, k]` is the attention of head k from i to j.

    Args:
        folder: written by `ShardWriter`.

    Attributes:
        heads: number of heads, of all layers and kinds.
        numbers: which sentences of the treebank there are, ascending, `[sentence]`.

    Raises:
        ValueError: the folder is not a whole set of tables of this version.
    """

    def __init__(self, folder: Path) -> None:
        try:
            about = read_json(folder / _ABOUT, most=_MOST_ABOUT)
            index: NDArray[np.int64] = np.load(folder / _INDEX)
            sizes = [path.stat().st_size for path in sorted(folder.glob("*.f16"))]
        except (OSError, ValueError, UnreadableFileError) as error:
            raise ValueError(f"{folder} is not a set of attention tables ({error}); make it again") from error
        self.heads = int(about["heads"])
        self.about: dict[str, Any] = about
        ends = (index[:, _OFFSET] + index[:, _WIDTH] ** 2 * self.heads) * 2
        expected = [int(ends[index[:, _SHARD] == shard].max(initial=0)) for shard in range(len(sizes))]
        if about.get("version") != _VERSION or sizes != expected:
            raise ValueError(f"{folder} is of another version or not whole; make it again")
        self.numbers = index[:, _NUMBER]
        self._index = index
        self._row_of = {int(number): row for row, number in enumerate(self.numbers)}
        # The mode is copy-on-write, because torch takes no read-only arrays. All files stay open, so that a set that
        # another run removes stays readable.
        self._shards = [
            torch.from_numpy(np.memmap(folder / _shard_name(shard), dtype=np.float16, mode="c"))
            if size
            else torch.zeros(0, dtype=torch.float16)
            for shard, size in enumerate(sizes)
        ]

    def __len__(self) -> int:
        return len(self.numbers)

    def table(self, number: int) -> Tensor:
        """Return a sentence's table, `[position, position, head]` float16, as it is stored."""
        _, shard, offset, width = self._index[self._row_of[number]].tolist()
        size = width * width * self.heads
        table: Tensor = self._shards[shard][offset : offset + size].view(width, width, self.heads)
        return table

    @property
    def bytes(self) -> int:
        """Size of all tables."""
        return sum(2 * len(shard) for shard in self._shards)


def _shard_name(number: int) -> str:
    return f"{number:05d}.f16"
