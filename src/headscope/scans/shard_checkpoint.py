"""The sums of scanned shards on disk: a run that is killed loses only minutes, and parts of a run can be merged."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from headscope.storage.places import remove
from headscope.storage.sealed import read_checked, signature_id, write_checked

SHARDS = "shards"
# At the end of a scan its sums are written if 1/8 of `minutes` has passed: a stage has fewer than 8 scans.
_SCANS = 8


@dataclass(frozen=True)
class Total:
    """The sums of the first shards of a scan, merged in order.

    Attributes:
        shards: number of shards.
        inputs: hash of their inputs.
        arrays: state of the sums.
    """

    shards: int
    inputs: str
    arrays: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Part:
    """The shards of a scan that this machine computes.

    Attributes:
        number, of: 1-based number of this part, and number of parts.
    """

    number: int
    of: int

    def has(self, shard: int) -> bool:
        """Return True if a shard, counted from 0, belongs to this part."""
        return shard % self.of == self.number - 1


@dataclass(eq=False, repr=False)
class ShardCheckpoint:
    """The saved sums of one stage's shards, in the folder `shards` of a run.

    One file holds the sums of a scan's first shards and is overwritten every `minutes` minutes: its size does not grow
    with the text. A part of a run keeps each of its shards in a separate file, for the later merge.

    Args:
        folder: folder of the run, which the caller has locked.
        stage: name of the stage.
        signature: signature of all that the stage's numbers depend on; shards of another stage or version are ignored.
        versions: versions of the software.
        minutes: maximum minutes of work that may be lost; 0 saves after every shard.
        opened: function that is called before anything is written.
        beside: folders of other parts of the run, read only.
        part: part that this run is, if it is one of several; else None.
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
        self._key = signature_id({"stage": self.signature, "versions": dict(self.versions)})
        self._since = time.monotonic()

    def total(self, scan: str) -> Total | None:
        """Return the kept sums of the first shards of a scan; None if there are none, or none that are intact."""
        checked = read_checked(self._path(self.folder, scan))
        if checked is None or checked[1].get("key") != self._key:
            return None
        arrays, about = checked
        return Total(int(about["shards"]), about["inputs"], arrays)

    def is_due(self, *, last: bool) -> bool:
        """Return True if enough was computed since the last write to write again; `last`: the scan ends here."""
        return time.monotonic() - self._since >= 60.0 * self.minutes / (_SCANS if last else 1)

    def keep_total(self, scan: str, total: Total) -> None:
        """Write the sums of a scan's first shards, replacing the previous ones."""
        about = {"key": self._key, "shards": str(total.shards), "inputs": total.inputs}
        self._write(self._path(self.folder, scan), total.arrays, about)

    def shard(self, scan: str, number: int, digest: str) -> Mapping[str, NDArray[Any]] | None:
        """Return the sums of a shard that this or another part of the run kept; None if none did."""
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
    """Remove the kept shards of finished stages."""
    kept = folder / SHARDS
    if not kept.is_dir():
        return
    for path in sorted(kept.iterdir()):
        if path.name.split(".")[0] in stages:
            remove(path)
    if not any(kept.iterdir()):
        kept.rmdir()
