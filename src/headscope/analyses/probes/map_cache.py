"""Tables of attention on disk, and a cache of them in a folder of limited size.

Tables are float16, read through a memory map; the least recently read are removed first.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headscope.errors import OptionError, OutputError
from headscope.storage.bounded import UnreadableFileError, read_json
from headscope.storage.lock import scratch, sweep_scratch
from headscope.storage.places import contents

_FORMAT = 2
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

    def close(self) -> None:
        """Write the index and the description of the tables."""
        self._file.close()
        np.save(self.folder / _INDEX, np.array(sorted(self._rows), dtype=np.int64).reshape(-1, 3))
        (self.folder / _ABOUT).write_text(json.dumps({"version": _FORMAT, "heads": self.heads}), encoding="utf-8")


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
            size = (folder / _TABLES).stat().st_size
        except (OSError, ValueError, UnreadableFileError) as error:
            raise ValueError(f"{folder} is not a set of attention tables ({error}); make it again") from error
        self.heads = int(about["heads"])
        end = int((index[:, _OFFSET] + index[:, _WIDTH] ** 2 * self.heads).max(initial=0))
        if about.get("version") != _FORMAT or size != 2 * end:
            raise ValueError(f"{folder} is of another version or not whole; make it again")
        self.numbers = index[:, _NUMBER]
        self._rows = {int(number): (offset, width) for number, offset, width in index.tolist()}
        # The mode is copy-on-write, because torch does not accept read-only arrays. The file stays open, so that a set
        # that another run removes stays readable; an empty file cannot be mapped.
        tables = np.memmap(folder / _TABLES, dtype=np.float16, mode="c") if end else np.zeros(0, np.float16)
        self._tables = torch.from_numpy(tables)

    def table(self, number: int) -> Tensor:
        """Return a sentence's table, `[position, position, head]` float16, as it is stored."""
        offset, width = self._rows[number]
        table: Tensor = self._tables[offset : offset + width * width * self.heads]
        return table.view(width, width, self.heads)


CACHE_GIB = 20.0
GIB_VARIABLE = "HEADSCOPE_CACHE_GIB"
_VERSION = 2  # version of the tables' contents


def cache_folder() -> Path:
    """Return the folder for tables: next to the other assets, `HF_ASSETS_CACHE`/headscope/word-maps-2."""
    from huggingface_hub import constants

    return Path(constants.HF_ASSETS_CACHE) / "headscope" / f"word-maps-{_VERSION}"


def cache_limit() -> float:
    """Return the size limit of tables in GiB: `HEADSCOPE_CACHE_GIB`, by default 20.

    Raises:
        OptionError: the variable is not a number above 0.
    """
    setting = os.environ.get(GIB_VARIABLE, "")
    try:
        limit = float(setting) if setting else CACHE_GIB
    except ValueError:
        limit = 0.0
    if not limit > 0:
        raise OptionError(
            f"{GIB_VARIABLE} is {setting!r}; expected how many GiB tables of attention may take, such as 20"
        )
    return limit


class MapCache:
    """Sets of tables by key, in a folder of limited size.

    Args:
        folder: path of the folder; created when it is needed.
        gib: size limit in GiB.
    """

    def __init__(self, folder: Path, *, gib: float) -> None:
        self.folder, self.gib = folder, gib

    def reserve(self, sizes: Mapping[str, int], *, what: str) -> None:
        """Make room for several sets at once by removing others, the least recently read first.

        Args:
            sizes: bytes of each set by key; sets that exist already are kept.
            what: description of the corpus of the tables, for the error.

        Raises:
            OutputError: the sets exceed the limit, or the free disk space; nothing was written.
        """
        need = f"the attention of {what} takes {_gib(sum(sizes.values()))} on disk"
        way_out = "take fewer sentences with --max-inputs"
        most = self.gib * 2**30
        if sum(sizes.values()) > most:
            raise OutputError(
                f"{need}, more than the limit of {self.gib:g} GiB; set {GIB_VARIABLE} to more, or {way_out}"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        sweep_scratch(self.folder)
        others = [path for path in contents(self.folder) if path.is_dir() and path.name not in sizes]
        total = sum(sizes.values()) + sum(_size(path) for path in others)
        for path in sorted(others, key=_touched):
            if total > most:
                total -= _size(path)
                shutil.rmtree(path, ignore_errors=True)
        missing = sum(size for key, size in sizes.items() if not self.has(key))
        free = shutil.disk_usage(self.folder).free
        if missing > free:
            raise OutputError(
                f"{need}, and {self.folder} has {_gib(free)} free; free some space, set HF_ASSETS_CACHE to a folder "
                f"on another disk, or {way_out}"
            )

    def has(self, key: str) -> bool:
        """Return True if there is a complete set with this key."""
        try:
            WordMaps(self.folder / key)
        except ValueError:
            return False
        return True

    def get_or_make(self, key: str, make: Callable[[Path], None]) -> WordMaps:
        """Return the set with this key, and make it if it is missing.

        Args:
            key: identifies everything that the tables depend on.
            make: function that writes a set at a path (`TableWriter`).
        """
        target = self.folder / key
        if not self.has(key):
            with scratch(self.folder, key) as part:
                make(part)
                # Remove an incomplete set.
                shutil.rmtree(target, ignore_errors=True)
                # The write is not atomic, because gigabytes that can be recomputed need not reach the disk first. If
                # two runs make the same set, the first wins, because others may be reading it.
                try:
                    part.rename(target)
                except OSError:
                    # If the set exists, another run was faster.
                    if not self.has(key):
                        raise
        os.utime(target)
        return WordMaps(target)

    @contextmanager
    def passing(self, make: Callable[[Path], None]) -> Iterator[WordMaps]:
        """Make a set that is removed when the block ends."""
        with scratch(self.folder, "passing") as part:
            make(part)
            yield WordMaps(part)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def _touched(folder: Path) -> float:
    return max([folder.stat().st_mtime, *(path.stat().st_mtime for path in folder.iterdir())])


def _gib(number: int) -> str:
    return f"{number / 2**30:.1f} GiB"
