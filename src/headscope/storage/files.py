"""Text, JSON, tables and arrays written to files, and errors of the file system in a sentence."""

import json
import os
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


SPEC = "packed"
"""Name of the array with the original type and shape of each packed array: JSON as bytes."""
_PLACES, _ROWS = ".places", ".rows"
_FEWEST = 4096  # numbers; smaller arrays stay as they are
_WHOLE = ("uint8", "int8", "uint16", "int16", "uint32", "int32")


def pack(arrays: "Mapping[str, NDArray[Any]]") -> "dict[str, NDArray[Any]]":
    """Return arrays that store the same numbers in fewer bytes, for `unpack`.

    Zeros of an array with many of them are left out, first whole rows (the first two axes), then single numbers: one
    bit per row or number shows if it is present. Numbers that a smaller type holds exactly are stored in it. Small
    arrays are not changed.
    """
    import numpy as np

    out: dict[str, NDArray[Any]] = {}
    spec = {}
    for name, array in arrays.items():
        if array.size < _FEWEST or array.dtype.kind not in "iuf":
            out[name] = array
            continue
        spec[name] = {"dtype": array.dtype.str, "shape": list(array.shape)}
        lead = array.shape[: min(2, array.ndim - 1)]
        table = _narrowed(array).reshape(int(np.prod(lead)), -1)
        there = _is_there(table)
        rows = there.any(1)
        bytes_saved = np.count_nonzero(~rows) * table.shape[1] * table.itemsize
        if bytes_saved > len(table) / 8:  # more than the marks of the rows take, one bit each
            out[name + _ROWS], table, there = np.packbits(rows), table[rows], there[rows]
        if there.size and there.mean() < 1 - 1 / (8 * table.itemsize):
            out[name + _PLACES], table = np.packbits(there), table[there]
        out[name] = table.reshape(-1)
    if spec:
        out[SPEC] = np.frombuffer(json.dumps(spec, sort_keys=True).encode(), dtype=np.uint8).copy()
    return out


def unpack(arrays: "Mapping[str, NDArray[Any]]") -> "dict[str, NDArray[Any]]":
    """Return the arrays that `pack` was given; arrays that were not packed are returned unchanged.

    Raises:
        ValueError: the parts of an array do not belong together.
    """
    import numpy as np

    if SPEC not in arrays:
        return dict(arrays)
    spec = json.loads(arrays[SPEC].tobytes())
    internal_names = {SPEC, *(name + part for name in spec for part in (_PLACES, _ROWS))}
    out = {name: array for name, array in arrays.items() if name not in internal_names}
    for name, original in spec.items():
        shape = tuple(original["shape"])
        lead = int(np.prod(shape[: min(2, len(shape) - 1)]))
        flat = arrays[name].astype(original["dtype"])
        rows = _bits(arrays, name + _ROWS, lead)
        width = int(np.prod(shape)) // max(1, lead)
        number = lead if rows is None else int(rows.sum())
        places = _bits(arrays, name + _PLACES, number * width)
        if places is not None:
            flat = _spread(flat, places)
        table = flat.reshape(number, width)
        out[name] = (table if rows is None else _spread(table, rows)).reshape(shape)
    return {name: out[name] for name in arrays if name in out}


def _narrowed(array: "NDArray[Any]") -> "NDArray[Any]":
    """Return an array in the smallest type that holds each of its numbers exactly."""
    import numpy as np

    if array.dtype.kind == "f":
        with np.errstate(over="ignore"):
            single = array.astype("float32", copy=False)
        return single if single.itemsize < array.itemsize and _same(single.astype(array.dtype), array) else array
    least, most = int(array.min()), int(array.max())
    for name in _WHOLE:
        limits = np.iinfo(name)
        if np.dtype(name).itemsize < array.itemsize and limits.min <= least and most <= limits.max:
            return array.astype(name)
    return array


def _same(first: "NDArray[Any]", second: "NDArray[Any]") -> bool:
    """Return True if two arrays of floats are equal bit for bit, unlike 0 and -0."""
    import numpy as np

    bits = np.dtype(f"u{first.itemsize}")
    return bool(np.array_equal(np.ascontiguousarray(first).view(bits), np.ascontiguousarray(second).view(bits)))


def _is_there(table: "NDArray[Any]") -> "NDArray[Any]":
    """Return True for numbers other than 0; -0 counts as such a number."""
    import numpy as np

    return np.asarray(table.view(np.dtype(f"u{table.itemsize}")) != 0)


def _bits(arrays: "Mapping[str, NDArray[Any]]", name: str, number: int) -> "NDArray[Any] | None":
    """Return packed marks; None if all marks are set."""
    import numpy as np

    if name not in arrays:
        return None
    packed = arrays[name]
    marks = np.unpackbits(packed)
    if packed.dtype != np.uint8 or len(packed) != -(-number // 8) or marks[number:].any():
        raise ValueError(f"expected {name} to mark {number:,} places, found {len(packed):,} bytes")
    return marks[:number].astype(bool)


def _spread(values: "NDArray[Any]", marks: "NDArray[Any]") -> "NDArray[Any]":
    """Put values at the marks, and zeros elsewhere."""
    import numpy as np

    if len(values) != int(marks.sum()):
        raise ValueError(f"expected {int(marks.sum()):,} values for as many marks, found {len(values):,}")
    whole = np.zeros((len(marks), *values.shape[1:]), dtype=values.dtype)
    whole[marks] = values
    return whole


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
