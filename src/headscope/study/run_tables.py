"""The tables in a run's folder by name, each read once and checked."""

from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from headscope.errors import InputError
from headscope.storage.atomic import hash_of
from headscope.storage.bounded import UnreadableFileError, read_regular
from headscope.storage.scratch import temporary_folder_at

_AGAIN = "give the same headscope command with --out {path} again, which measures that part anew"
CHANGED = f"was changed or damaged since the run wrote it; {_AGAIN}"
_GONE = f"is not there any more; {_AGAIN}"
_MOST_TABLE = 1 << 30  # bytes


class RunTables(Mapping[str, pd.DataFrame]):
    """The tables of a run by name, in the order of their names; each is read when it is first used, and cached.

    Reading a table raises `InputError` if its file is missing, or has changed since the run wrote it.
    """

    def __init__(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        self._folder = folder
        self._temporary = temporary_folder_at(folder)  # keeps a temporary folder alive as long as these tables
        self._manifest = manifest
        self._names = sorted(table for stage in manifest.get("stages", {}).values() for table in stage["tables"])
        self._read: dict[str, pd.DataFrame] = {}

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name not in self:
            raise KeyError(name)
        if name not in self._read:
            content = checked_bytes(self._folder, self._manifest, f"tables/{name}.parquet")
            self._read[name] = pd.read_parquet(BytesIO(content))
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        return f"<tables {', '.join(self)}>"


def checked_bytes(folder: Path, manifest: Mapping[str, Any], file: str) -> bytes:
    """Return the bytes of a run's file, if they are unchanged since the run wrote it.

    Args:
        folder: folder of the run.
        manifest: manifest with the file's hash.
        file: its path in the folder, such as `tables/stats.parquet`.

    Raises:
        InputError: the file has changed, is missing or is not a regular file; the message gives the remedy.
    """
    hashes = [stage["files"].get(file) for stage in manifest["stages"].values()]
    try:
        content = read_regular(folder / file, most=_MOST_TABLE)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{folder / file} {_GONE.format(path=folder)}") from None
    except UnreadableFileError as error:
        raise InputError(f"{folder / file} {error.problem}; {_AGAIN.format(path=folder)}") from None
    if hash_of(content) not in hashes:
        raise InputError(f"{folder / file} {CHANGED.format(path=folder)}")
    return content
