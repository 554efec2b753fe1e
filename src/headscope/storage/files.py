"""Text, JSON, tables and arrays as files that are whole or absent; each writer returns the hash of what it wrote."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import OptionError
from headscope.storage.atomic import write_bytes
from headscope.storage.bounded import check_regular
from headscope.storage.lock import place_held
from headscope.storage.packed import pack, unpack
from headscope.storage.places import check_place

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def write_text(path: Path, text: str) -> str:
    """Write a text file in UTF-8; a lone surrogate, as of a file's name that is no UTF-8, as `\\udce9`."""
    return write_bytes(path, text.encode(errors="backslashreplace"))


def place_text(path: Path, text: str) -> str:
    """Write a text file that stands by itself, outside a folder that a run holds: `write_text`, with the place held.

    Raises:
        IsADirectoryError: a folder stands there.
        OutputError: another run writes there.
    """
    with place_held(path):
        return write_text(path, text)


def write_json(path: Path, content: Mapping[str, Any]) -> str:
    """Write a JSON file with stable layout."""
    return write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_parquet(path: Path, table: "pd.DataFrame") -> str:
    """Write a table as Parquet."""
    # As bytes: the writer of files hides what the disk says in an error of its own.
    return write_bytes(path, table.to_parquet(index=False))


def write_arrays(path: Path, arrays: "Mapping[str, NDArray[Any]]", *, about: Mapping[str, str]) -> str:
    """Write named arrays as safetensors, packed where that saves much, with words about them."""
    import numpy as np
    from safetensors.numpy import save

    # ascontiguousarray would make vectors of single numbers.
    ready = pack({name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()})
    # Not save_file: it hides a full disk in an error of its own, and lets nobody else read the file.
    return write_bytes(path, save(ready, metadata=dict(about)))


def read_arrays(path: Path) -> "tuple[dict[str, NDArray[Any]], dict[str, str]]":
    """Read named arrays and the words about them.

    Raises:
        ValueError: packed arrays are not as they were written.
        UnreadableFileError: it is no regular file, or too large.
    """
    from safetensors import safe_open

    check_regular(path)
    with safe_open(str(path), framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return unpack(arrays), dict(file.metadata() or {})


def check_file_place(option: str, path: Path, *, reads: Iterable[Any] = ()) -> None:
    """Refuse a place that no file can be written to, before anything is computed for it.

    Raises:
        OptionError: it is a folder, or the folder around it does not exist.
        OutputError: as `check_place`.
    """
    check_place(path, reads=reads)
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise OptionError(f"{option} {path} is no place for a file; give a file in a folder that exists")
