"""The pickles of Clark et al. 2019's code: a list of dicts with `attns` and `tokens`.

They are read without trusting them (`unpickling`), and written for the original's notebooks.
"""

import pickle
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from headscope.attention.head_id import HeadId
from headscope.attention.row_checks import wrong_row
from headscope.errors import InputError
from headscope.maps.unpickling import read_plain_pickle
from headscope.storage.atomic import whole_or_absent

_LAYOUT = "[layers, heads, n, n]"


def read_original_pickle(path: str | Path) -> list[dict[str, Any]]:
    """Read the attention maps that the original's `extract_attention.py` wrote; they are held in memory.

    Returns:
        The fields of each entry, unchanged; `attns` is a float array `[layers, heads, n, n]` and `tokens`
        a list of n strings, or, if attention is by word, `words` is a list of n - 2 strings.

    Raises:
        InputError: as `read_plain_pickle`; or an entry does not have this form, or a row of it is not a distribution.
    """
    entries = read_plain_pickle(path)
    if not isinstance(entries, list) or not entries:
        raise InputError(f"{path}: expected a list of dicts with attns and tokens, found {_named(entries)}")
    first: tuple[int, ...] | None = None
    for number, entry in enumerate(entries, 1):
        where = f"{path}, entry {number}"
        if not isinstance(entry, dict):
            raise InputError(f"{where}: expected a dict with attns and tokens, found {_named(entry)}")
        attns = _check_attns(entry.get("attns"), where)
        first = first or attns.shape[:2]
        if attns.shape[:2] != first:
            raise InputError(
                f"{where}: attns has {attns.shape[0]} layers of {attns.shape[1]} heads, expected {first[0]} of "
                f"{first[1]} as in entry 1; keep the maps of one model in a file"
            )
        tokens = _check_strings(entry.get("tokens"), "tokens", where)
        words = _check_strings(entry["words"], "words", where) if "words" in entry else []
        by_word = "words" in entry and attns.shape[2] == len(words) + 2
        if attns.shape[2] != len(tokens) and not by_word:
            also = f" or {len(words) + 2} (its words and two special tokens)" if words else ""
            raise InputError(
                f"{where}: attns has {attns.shape[2]} rows, expected {len(tokens)} (its tokens){also}; extract it again"
            )
        if by_word and len(tokens) < 2:
            raise InputError(
                f"{where}: expected tokens with a special token at each end, as its attention by word has, found "
                f"{len(tokens)}; extract it again"
            )
        _check_rows(attns, where)
    return entries


def _check_attns(attns: Any, where: str) -> NDArray[Any]:
    if not isinstance(attns, np.ndarray) or attns.dtype.kind != "f":
        raise InputError(f"{where}: expected attns to be a float array {_LAYOUT}, found {_named(attns)}")
    if attns.ndim != 4 or attns.shape[2] != attns.shape[3] or 0 in attns.shape:
        raise InputError(f"{where}: expected attns to have shape {_LAYOUT}, found {list(attns.shape)}")
    return attns


def _check_rows(attns: NDArray[Any], where: str) -> None:
    for layer, maps in enumerate(attns):
        with np.errstate(over="ignore"):  # a float64 too large for float32 becomes infinite, which is wrong, too
            wrong = wrong_row(maps.astype(np.float32))
        if wrong is not None:
            head, row = wrong.index
            raise InputError(
                f"{where}: row {row + 1} of head {HeadId.at('encoder', layer, head)} {wrong.what}: give attention "
                "after the softmax, or extract it again"
            )


def _check_strings(value: Any, field: str, where: str) -> list[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{where}: expected {field} to be a list of strings, found {_named(value)}")
    return value


def _named(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    names = {list: "a list" if value else "an empty list", dict: "a dict", str: "a string", type(None): "none"}
    return names.get(type(value), "a number")


def write_original_pickle(path: str | Path, entries: Iterable[Mapping[str, Any]], *, replace: bool = False) -> int:
    """Write entries one after another, with one at a time in memory, and return their number.

    Arrays become float16. Protocol 2 and numpy's old module names make the file readable by Python 2.7 and any numpy.

    Args:
        path: file to create; it appears when it is complete.
        entries: dicts of strings, numbers, lists, dicts and arrays.
        replace: whether an existing file is replaced.

    Raises:
        OutputError: `path` exists and may not be replaced.
    """
    number = 0
    with whole_or_absent(Path(path), replace=replace) as part, part.open("wb") as file:
        # Each entry is appended to an empty list: the same pickle as that of the whole list, which is never in memory.
        file.write(pickle.PROTO + b"\x02" + pickle.EMPTY_LIST)
        for entry in entries:
            _write_entry(file, entry)
            number += 1
        file.write(pickle.STOP)
    return number


def _write_entry(file: IO[bytes], entry: Mapping[str, Any]) -> None:
    file.write(pickle.EMPTY_DICT)
    for name, value in entry.items():
        file.write(_instructions(name))
        if isinstance(value, np.ndarray):
            _write_array(file, value)
        else:
            file.write(_instructions(value))
        file.write(pickle.SETITEM)
    file.write(pickle.APPEND)


def _instructions(value: Any) -> bytes:
    """Return the instructions that put a value on the stack: its pickle without its first and last instruction."""
    return pickle.dumps(value, 2)[2:-1]


def _write_array(file: IO[bytes], array: NDArray[Any]) -> None:
    """Write an array as numpy 1 does; numpy 2 would name a module that numpy 1 lacks."""
    dtype = (
        b"cnumpy\ndtype\nU\x02f2"
        + pickle.NEWFALSE
        + pickle.NEWTRUE
        + pickle.TUPLE3
        + pickle.REDUCE
        # the state of the dtype: version 3, little-endian, no fields, no flags
        + b"(K\x03U\x01<NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t"
        + pickle.BUILD
    )
    file.write(b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87" + pickle.REDUCE)
    shape = b"(" + b"".join(b"J" + struct.pack("<i", side) for side in array.shape) + pickle.TUPLE
    file.write(b"(K\x01" + shape + dtype + pickle.NEWFALSE)
    file.write(_instructions(np.ascontiguousarray(array, dtype="<f2").tobytes()))
    file.write(pickle.TUPLE + pickle.BUILD)
