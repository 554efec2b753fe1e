"""The files of a run's folder: its manifest, and its tables, each read once and checked."""

from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pandas as pd

from headscope.attention.head_id import KINDS
from headscope.errors import InputError
from headscope.storage.atomic import hash_of
from headscope.storage.bounded import UnreadableFileError, read_regular
from headscope.storage.lock import temporary_folder_at
from headscope.storage.sealed import Sealed, read_sealed, write_sealed

MANIFEST = "manifest.json"
_MOST = 100_000  # layers, heads
_SIGNATURE = ("model", "corpus", "options", "versions")
_COUNTS = ("documents", "documents_used", "segments", "tokens", "truncated", "skipped")
_TEXTS = ("created", "headscope", "tap", "device")
_REMEDY = "run again with another --out; the tables in {tables} are Parquet, which can be read without it"
_AGAIN = "give the same headscope command with --out {path} again, which measures that part anew"
CHANGED = f"was changed or damaged since the run wrote it; {_AGAIN}"
_GONE = f"is not there any more; {_AGAIN}"
_MOST_TABLE = 1 << 30  # bytes


def write_manifest(folder: Path, content: Mapping[str, Any]) -> None:
    """Write a run's manifest with its seal, atomically."""
    write_sealed(folder / MANIFEST, content)


def read_manifest(folder: Path) -> Sealed | None:
    """Read a run's manifest, or return None if there is none.

    Raises:
        InputError: the file is not the manifest of a run; the message gives the remedy.
    """
    path = folder / MANIFEST
    sealed = read_sealed(path, remedy=_remedy(folder))
    if sealed is None:
        return None
    if not isinstance(sealed.content, dict) or not {"signature", "kinds", "counts"} <= sealed.content.keys():
        raise InputError(f"{path} is not the manifest of a headscope run; give a folder that headscope report wrote")
    if (part := _misshapen(sealed.content)) is not None:
        raise InputError(f"{path} is damaged: its {part} is not what a run writes there; {_remedy(folder)}")
    return sealed


def _remedy(folder: Path) -> str:
    """Return the advice for an unreadable manifest, which never deletes measured results."""
    return _REMEDY.format(tables=folder / "tables")


def _misshapen(content: Mapping[str, Any]) -> str | None:
    """Return the name of a part that has the wrong type; None if all parts are valid."""
    signature, kinds, notes = content["signature"], content["kinds"], content.get("notes", [])
    stages = content.get("stages", {})
    valid = {
        "signature": isinstance(signature, dict)
        and all(isinstance(signature.get(name, {}), dict) for name in _SIGNATURE)
        and isinstance(signature.get("model", {}).get("name"), str),
        "kinds": isinstance(kinds, list) and bool(kinds) and all(map(_is_kind, kinds)),
        "counts": _are_counts(content["counts"]),
        "stages": isinstance(stages, dict) and all(map(_is_stage, stages.values())),
        **{name: isinstance(content.get(name, ""), str) for name in _TEXTS},
        "notes": isinstance(notes, list) and all(isinstance(note, str) for note in notes),
    }
    return next((name for name, is_valid in valid.items() if not is_valid), None)


def _are_counts(counts: Any) -> bool:
    if not (isinstance(counts, dict) and isinstance(counts.get("skipped_why", {}), dict)):
        return False
    numbers = {**counts, **counts.get("skipped_why", {}), "skipped_why": 0}
    return set(_COUNTS) <= counts.keys() and all(
        type(number) is int and 0 <= number < 1 << 63 for number in numbers.values()
    )


def _is_kind(part: Any) -> bool:
    if not (isinstance(part, dict) and part.get("kind") in KINDS):
        return False
    if not all(type(part.get(name)) is int and 0 < part[name] <= _MOST for name in ("layers", "heads")):
        return False
    model_layers = part.get("own", [])
    return (
        isinstance(model_layers, list)
        and len(model_layers) in (0, part["layers"])
        and all(type(each) is int for each in model_layers)
    )


def _is_stage(stage: Any) -> bool:
    if not (isinstance(stage, dict) and isinstance(stage.get("files"), dict)):
        return False
    lists = (stage.get("tables"), stage.get("notes"))
    return all(isinstance(each, list) and all(isinstance(item, str) for item in each) for each in lists)


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
