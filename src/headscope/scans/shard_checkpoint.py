"""What a run keeps of the shards that it has scanned: one that is killed loses minutes, and others can be joined."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from headscope.scans.shard_sums import TOGETHER
from headscope.storage.checked_arrays import read_checked, write_checked
from headscope.storage.signature_id import signature_id
from headscope.storage.unfinished import remove

SHARDS = "shards"
# A scan that ends is kept if it took this share of the time: a stage has fewer scans than this.
_SCANS = 8


@dataclass(frozen=True)
class Prefix:
    """The sums of the first shards of a scan, joined as far as their tree goes.

    Attributes:
        shards: how many they are.
        chain: hash over their inputs.
        arrays: the state of the tree (`SumsTree`).
    """

    shards: int
    chain: str
    arrays: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Part:
    """Which shards of a scan are this machine's.

    Attributes:
        number, of: it is the first, second ... of so many, from 1.
    """

    number: int
    of: int

    def has(self, shard: int) -> bool:
        """Whether a shard, counted from 0, is its."""
        return shard % self.of == self.number - 1


@dataclass(eq=False, repr=False)
class ShardCheckpoint:
    """The shards of one stage, in the folder `shards` of a run.

    One file holds the joined sums of a scan's first shards, written over every so many minutes: its size grows with the
    logarithm of the text's. A part of a run keeps each of its shards in a file, for whoever joins them.

    Args:
        folder: of the run, which the caller holds.
        stage: its name.
        signature: what the stage's numbers depend on: what another stage, or another version, kept is passed over.
        versions: of the software.
        minutes: how much work may be lost; 0 keeps every shard.
        opened: called before anything is written.
        beside: folders of other parts of the run, read only.
        part: where this run is one of several.
    """

    folder: Path
    _: KW_ONLY
    stage: str
    signature: str
    versions: Mapping[str, Any]
    minutes: int
    opened: Callable[[], None]
    beside: Sequence[Path] = ()
    part: Part | None = None

    def __post_init__(self) -> None:
        self._key = signature_id({"stage": self.signature, "versions": dict(self.versions), "together": TOGETHER})
        self._since = time.monotonic()

    def prefix(self, scan: str) -> Prefix | None:
        """Return what was kept of the first shards of a scan; None where there is nothing, or nothing whole."""
        checked = read_checked(self._path(self.folder, scan))
        if checked is None or checked[1].get("key") != self._key:
            return None
        arrays, about = checked
        return Prefix(int(about["shards"]), about["chain"], arrays)

    def is_due(self, *, last: bool) -> bool:
        """Whether so much was computed since anything was kept that it should be; `last`: the scan ends here."""
        return time.monotonic() - self._since >= 60.0 * self.minutes / (_SCANS if last else 1)

    def keep_prefix(self, scan: str, prefix: Prefix) -> None:
        """Write the joined sums of a scan's first shards in place of those written before."""
        about = {"key": self._key, "shards": str(prefix.shards), "chain": prefix.chain}
        self._write(self._path(self.folder, scan), prefix.arrays, about)

    def shard(self, scan: str, number: int, digest: str) -> Mapping[str, NDArray[Any]] | None:
        """Return the sums of a shard that this part of a run kept, or another; None where none did."""
        for folder in (self.folder, *self.beside):
            checked = read_checked(self._path(folder, scan, number))
            if checked is not None and checked[1] == {"key": self._key, "inputs": digest}:
                return checked[0]
        return None

    def keep_shard(self, scan: str, number: int, digest: str, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the sums of one shard."""
        self._write(self._path(self.folder, scan, number), arrays, {"key": self._key, "inputs": digest})

    def _write(self, path: Path, arrays: Mapping[str, NDArray[Any]], about: Mapping[str, str]) -> None:
        self.opened()
        write_checked(path, arrays, about=about)
        self._since = time.monotonic()

    def _path(self, folder: Path, scan: str, number: int | None = None) -> Path:
        of = "" if number is None else f".{number:06}"
        return folder / SHARDS / f"{self.stage}.{scan}{of}.safetensors"


def forget_shards(folder: Path, stages: Sequence[str]) -> None:
    """Remove what was kept of stages that are finished."""
    kept = folder / SHARDS
    if not kept.is_dir():
        return
    for path in sorted(kept.iterdir()):
        if path.name.split(".")[0] in stages:
            remove(path)
    if not any(kept.iterdir()):
        kept.rmdir()
