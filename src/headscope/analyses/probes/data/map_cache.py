"""A cache of attention tables in a folder of limited size; the least recently read tables are removed first."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from headscope.analyses.probes.data.attention_tables import WordMaps
from headscope.errors import OptionError, OutputError
from headscope.storage.scratch import scratch, sweep_scratch
from headscope.storage.unfinished import contents

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
