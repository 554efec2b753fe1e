"""Text, JSON, tables and arrays written to files, and errors of the file system in a sentence."""

import json
import math
import os
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import OptionError
from headscope.storage.atomic import write_bytes
from headscope.storage.bounded import check_regular
from headscope.storage.lock import place_held
from headscope.storage.places import check_place

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


SPEC = "compressed"
"""Name of the array with the original type and shape of each packed array: JSON as bytes."""
_FEWEST = 32768  # bytes; smaller arrays stay as they are
_MOST_SET = 0.7  # share of bytes other than 0 up to which packing pays


def pack(arrays: "Mapping[str, NDArray[Any]]") -> "dict[str, NDArray[Any]]":
    """Return arrays for `unpack` in which large arrays with many zeros are compressed, as counts are."""
    import numpy as np

    out, spec = dict(arrays), {}
    for name, array in arrays.items():
        content = np.frombuffer(array.tobytes(), dtype=np.uint8)
        if len(content) >= _FEWEST and np.count_nonzero(content) <= _MOST_SET * len(content):
            spec[name] = [array.dtype.str, array.shape]
            out[name] = np.frombuffer(zlib.compress(content.tobytes(), 1), dtype=np.uint8)
    if spec:
        out[SPEC] = np.frombuffer(json.dumps(spec, sort_keys=True).encode(), dtype=np.uint8)
    return out


def unpack(arrays: "Mapping[str, NDArray[Any]]") -> "dict[str, NDArray[Any]]":
    """Return the arrays that `pack` was given.

    Raises:
        ValueError: a packed array is not as it was written.
    """
    import numpy as np

    out = dict(arrays)
    for name, (kind, shape) in json.loads(out.pop(SPEC).tobytes()).items() if SPEC in out else ():
        size = np.dtype(kind).itemsize * math.prod(shape)
        try:
            content = zlib.decompressobj().decompress(out[name].tobytes(), size + 1)
        except zlib.error as error:
            raise ValueError(f"expected {name} to be compressed: {error}") from error
        out[name] = np.frombuffer(bytearray(content), dtype=kind).reshape(shape)
    return out


def in_words(error: OSError) -> str:
    """Return a message for a file system error: the file, the system's reason, and what to do."""
    name = "a file" if error.filename is None else os.fsdecode(error.filename)
    reason = error.strerror or str(error) or type(error).__name__
    return (
        f"cannot read or write {name}: {reason}; what was finished is kept: free space, check permissions or give "
        "another path, and run the same command again"
    )


def write_text(path: Path, text: str) -> str:
    """Write a text file in UTF-8; a lone surrogate, as in a file name that is not UTF-8, is written as `\\udce9`."""
    return write_bytes(path, text.encode(errors="backslashreplace"))


def place_text(path: Path, text: str) -> str:
    """Write a single text file outside a folder that a run holds: `write_text` with a lock on the path.

    Raises:
        IsADirectoryError: the path is a folder.
        OutputError: another run is writing to the path.
    """
    with place_held(path):
        return write_text(path, text)


def write_json(path: Path, content: Mapping[str, Any]) -> str:
    """Write a JSON file with a stable layout."""
    return write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_parquet(path: Path, table: "pd.DataFrame") -> str:
    """Write a table as Parquet."""
    # As bytes: the file writer of pyarrow replaces the operating system's error by its own.
    return write_bytes(path, table.to_parquet(index=False))


def write_arrays(path: Path, arrays: "Mapping[str, NDArray[Any]]", *, about: Mapping[str, str]) -> str:
    """Write named arrays as safetensors, packed if that saves much space, with metadata."""
    import numpy as np
    from safetensors.numpy import save

    # ascontiguousarray alone would turn scalars into vectors.
    ready = pack({name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()})
    # Not save_file: it replaces the error for a full disk by its own, and makes a file that only its owner can read.
    return write_bytes(path, save(ready, metadata=dict(about)))


def read_arrays(path: Path) -> "tuple[dict[str, NDArray[Any]], dict[str, str]]":
    """Read named arrays and their metadata.

    Raises:
        ValueError: packed arrays are not as they were written.
        UnreadableFileError: the file is not a regular file, or too large.
    """
    from safetensors import safe_open

    check_regular(path)
    with safe_open(str(path), framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return unpack(arrays), dict(file.metadata() or {})


def check_file_place(option: str, path: Path, *, reads: Iterable[Any] = ()) -> None:
    """Refuse a path that a file cannot be written to, before anything is computed for it.

    Raises:
        OptionError: the path is a folder, or its parent folder does not exist.
        OutputError: as `check_place`.
    """
    check_place(path, reads=reads)
    if path.is_dir() or not path.resolve().parent.is_dir():
        raise OptionError(f"{option} {path} cannot hold a file; give a file in a folder that exists")
