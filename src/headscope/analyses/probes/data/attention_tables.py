"""Tables of attention on disk: float16, read through a memory map."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.storage.bounded import UnreadableFileError, read_json

_VERSION = 2
_INDEX, _TABLES, _ABOUT = "index.npy", "tables.f16", "about.json"
_MOST_ABOUT = 1 << 20  # bytes
# Columns of the index, one row per sentence.
_NUMBER, _OFFSET, _WIDTH = range(3)


class TableWriter:
    """Write sentences' tables, `[position, position, head]`, one after the other.

    Args:
        folder: path of the folder; created here, and complete only after `close`. Earlier tables are overwritten.
        heads: length of the last axis.
    """

    def __init__(self, folder: Path, *, heads: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.heads = folder, heads
        self._rows: list[tuple[int, int, int]] = []
        self._offset = 0
        self._file = (folder / _TABLES).open("wb")

    def add(self, number: int, table: NDArray[np.float16]) -> None:
        """Write the table of a sentence; `number` is its index in the treebank."""
        self._file.write(np.ascontiguousarray(table).data)
        self._rows.append((number, self._offset, len(table)))
        self._offset += table.size

    def close(self, *, about: Mapping[str, Any]) -> None:
        """Write the index and `about`, a description of the tables' origin."""
        self._file.close()
        np.save(self.folder / _INDEX, np.array(sorted(self._rows), dtype=np.int64).reshape(-1, 3))
        facts = {"version": _VERSION, "heads": self.heads, **about}
        (self.folder / _ABOUT).write_text(json.dumps(facts, indent=2), encoding="utf-8")


class WordMaps:
    """Attention between the words of a treebank, sentence by sentence, read from the disk.

    Position 0 of a table is the first special token of the input, position 1 the last (zeros where there is none);
    words follow. `table[i, j, k]` is the attention of head k from i to j.

    Args:
        folder: folder written by `TableWriter`.

    Attributes:
        heads: number of heads, of all layers and kinds.
        numbers: indices in the treebank of the sentences that have a table, ascending, `[sentence]`.

    Raises:
        ValueError: the folder is not a complete set of tables of this version.
    """

    def __init__(self, folder: Path) -> None:
        try:
            about = read_json(folder / _ABOUT, most=_MOST_ABOUT)
            index: NDArray[np.int64] = np.load(folder / _INDEX)
            self.bytes = (folder / _TABLES).stat().st_size
        except (OSError, ValueError, UnreadableFileError) as error:
            raise ValueError(f"{folder} is not a set of attention tables ({error}); make it again") from error
        self.heads = int(about["heads"])
        self.about: dict[str, Any] = about
        end = int((index[:, _OFFSET] + index[:, _WIDTH] ** 2 * self.heads).max(initial=0))
        if about.get("version") != _VERSION or self.bytes != 2 * end:
            raise ValueError(f"{folder} is of another version or not whole; make it again")
        self.numbers = index[:, _NUMBER]
        self._rows = {int(number): (offset, width) for number, offset, width in index.tolist()}
        # The mode is copy-on-write, because torch does not accept read-only arrays. The file stays open, so that a set
        # that another run removes stays readable; an empty file cannot be mapped.
        tables = np.memmap(folder / _TABLES, dtype=np.float16, mode="c") if end else np.zeros(0, np.float16)
        self._tables = torch.from_numpy(tables)

    def __len__(self) -> int:
        return len(self.numbers)

    def table(self, number: int) -> Tensor:
        """Return a sentence's table, `[position, position, head]` float16, as it is stored."""
        offset, width = self._rows[number]
        table: Tensor = self._tables[offset : offset + width * width * self.heads]
        return table.view(width, width, self.heads)
