"""Compact storage of sums: without their zeros and in the smallest type that holds them; restored bit for bit."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
