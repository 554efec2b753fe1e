"""Read numbers, strings, lists, dicts and arrays of numbers from a pickle, and nothing else.

Loading a pickle runs its instructions, so a file is read twice. First its instructions are listed, which
runs nothing: only those that plain data needs are accepted, and no length may exceed the size of the file.
Then it is loaded with stand-ins for numpy's functions: they take bytes of the file and make
an array of numbers, so that nothing named in the file is ever imported or called.
"""

import math
import pickle
import pickletools
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from headscope.errors import InputError
from headscope.storage.bounded import UnreadableFileError, check_regular, open_regular
from headscope.visible import shown

_EXPECTED = "expected only arrays of numbers, dicts, lists, strings and numbers, as the original code writes them"
_MOST_BYTES = 1 << 40
_MOST_TEXT = 64
_MOST_DEPTH = 64
_MOST_EMPTY = 1000
_MOST_BITS = 64
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_INSTRUCTIONS = frozenset(
    re.findall(
        r"\w+",
        """PROTO FRAME STOP MARK POP POP_MARK MEMOIZE PUT BINPUT LONG_BINPUT GET BINGET LONG_BINGET
        NONE NEWTRUE NEWFALSE INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT
        STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8
        BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8 EMPTY_LIST LIST APPEND APPENDS
        EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 EMPTY_DICT DICT SETITEM SETITEMS
        GLOBAL STACK_GLOBAL REDUCE BUILD""",
    )
)


class _RefusedPickle(Exception):
    """The file contains more than data; the text names the instruction or value."""


def read_plain_pickle(path: str | Path) -> Any:
    """Read a pickle of plain data, from Python 2 or 3.

    The whole file is held in memory. Byte strings are returned as text (Python 2 wrote text so), tuples as lists.

    Raises:
        InputError: the file does not exist, is not a pickle, is broken, or holds anything but plain data.
    """
    path = Path(path)
    give = "give a pickle of the original code, as unlabeled_attn.pkl"
    try:
        size = check_regular(path, most=_MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"no such file: {path}; {give}") from None
    except UnreadableFileError as error:
        raise InputError(f"{path} {error.problem}; {give}") from None
    try:
        with open_regular(path, most=_MOST_BYTES) as file:
            _check_instructions(file, size)
            file.seek(0)
            loaded = _PlainUnpickler(file, size).load()
        return _Plain(size).value(loaded)
    except _RefusedPickle as error:
        raise InputError(f"{path} is refused: it {shown(error)}; {_EXPECTED}") from None
    except (RecursionError, MemoryError):
        raise InputError(f"{path} is refused: it is nested too deeply or too large to read; {_EXPECTED}") from None
    except (pickle.UnpicklingError, ArithmeticError, AttributeError, EOFError, LookupError, TypeError, ValueError) as e:
        raise InputError(f"{path} is not a whole pickle of plain data ({shown(e)}); {_EXPECTED}") from None


def _check_instructions(file: IO[bytes], size: int) -> None:
    for number, (instruction, argument, position) in enumerate(pickletools.genops(file)):
        name, value = instruction.name, argument if isinstance(argument, int) else 0
        if name not in _INSTRUCTIONS:
            raise _RefusedPickle(f"uses the pickle instruction {name}")
        # The memo is a table as long as its largest number; a frame is read in one piece.
        if name in ("PUT", "BINPUT", "LONG_BINPUT") and value > number:
            raise _RefusedPickle(f"asks for a memo of {value:,} places after {number:,} instructions")
        if name == "FRAME" and value > size - (position or 0):
            raise _RefusedPickle(f"announces {value:,} bytes and has {size - (position or 0):,}")


class _StandIn:
    """A function that a pickle may call; the file cannot change it."""

    __slots__ = ("_function", "_name")

    def __init__(self, name: str, function: Callable[..., Any] | None = None) -> None:
        self._name = name
        self._function = function

    def __call__(self, *arguments: Any) -> Any:
        if self._function is None:
            raise _RefusedPickle(f"calls {self._name}")
        return self._function(*arguments)

    def __setstate__(self, state: object) -> None:
        raise _RefusedPickle(f"changes {self._name}")


class _DType:
    """A stand-in for numpy.dtype that allows only numbers."""

    __slots__ = ("code", "order")

    def __init__(self, code: object, *_: object) -> None:
        text = code.decode("latin1") if isinstance(code, bytes) else code
        if not isinstance(text, str) or re.fullmatch(r"[biuf][1248]", text) is None:
            raise _RefusedPickle(f"holds an array of type {text!r}"[:80])
        self.code = text
        self.order = "="

    def __setstate__(self, state: Any) -> None:
        order = state[1].decode("latin1") if isinstance(state[1], bytes) else state[1]
        if order not in ("<", ">", "|", "=") or any(part is not None for part in state[2:5]):
            raise _RefusedPickle("holds an array whose items are not plain numbers")
        self.order = order

    def numpy(self) -> np.dtype[Any]:
        return np.dtype(self.code).newbyteorder("=" if self.order == "|" else self.order)  # type: ignore[arg-type]


class _Array:
    """A stand-in for numpy.ndarray: an array of bytes from the file."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: NDArray[Any] | None = None

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, raw = state
        self.value = _make_array(raw, dtype, shape, "F" if fortran else "C")


def _make_array(raw: Any, dtype: Any, shape: Any, order: Any) -> NDArray[Any]:
    if not isinstance(dtype, _DType) or not isinstance(raw, bytes | bytearray) or not isinstance(shape, tuple):
        raise _RefusedPickle("holds an array that is not made of numbers")
    numpy_type = dtype.numpy()
    if not all(type(side) is int and side >= 0 for side in shape) or len(shape) > 32:
        raise _RefusedPickle(f"holds an array of shape {shape}"[:80])
    # An array of a billion empty rows needs no bytes in the file, but as a list it would not fit into memory.
    if 0 in shape and max(shape) > _MOST_EMPTY:
        raise _RefusedPickle(f"holds an array of shape {shape} and no content"[:120])
    if math.prod(shape) * numpy_type.itemsize != len(raw):
        raise _RefusedPickle(f"holds an array of shape {shape} with {len(raw):,} bytes"[:120])
    order = order.decode("latin1") if isinstance(order, bytes) else order
    flat = np.frombuffer(raw, dtype=numpy_type) if len(raw) else np.zeros(0, dtype=numpy_type)
    return flat.reshape(shape, order="F" if order == "F" else "C")


def _reconstruct(subtype: object, *_: object) -> _Array:
    if subtype is not _NDARRAY:
        raise _RefusedPickle("makes an array of an unknown kind")
    return _Array()


def _from_buffer(raw: Any, dtype: Any, shape: Any, order: Any) -> _Array:
    array = _Array()
    array.value = _make_array(raw, dtype, shape, order)
    return array


def _scalar(dtype: Any, raw: Any) -> Any:
    return _make_array(raw, dtype, (), "C").item()


class _Encode:
    """A stand-in for _codecs.encode, with which Python 3 writes bytes in protocol 2, once for each bytes object.

    One text encoded many times could exceed any memory, so the total of encoded bytes is limited by the size of the
    file.
    """

    def __init__(self, most: int) -> None:
        self.left = most

    def __call__(self, text: Any, encoding: Any) -> bytes:
        if not isinstance(text, str) or encoding not in ("latin1", "latin-1"):
            raise _RefusedPickle("calls _codecs.encode with arguments that do not encode bytes")
        self.left -= len(text)
        if self.left < 0:
            raise _RefusedPickle("makes more bytes than it has")
        return text.encode("latin1")


def _no_bytes(*arguments: Any) -> bytes:
    """Return empty bytes, which Python 3 writes as this call in protocol 2."""
    if arguments:
        raise _RefusedPickle("calls bytes with arguments")
    return b""


_NDARRAY = _StandIn("numpy.ndarray")
_MAY_BE_NAMED = {
    ("numpy", "ndarray"): _NDARRAY,
    ("numpy", "dtype"): _StandIn("numpy.dtype", _DType),
    ("builtins", "bytes"): _StandIn("bytes", _no_bytes),
    ("__builtin__", "bytes"): _StandIn("bytes", _no_bytes),
    **{
        (f"numpy.{core}.{module}", name): _StandIn(name, function)
        for core in ("core", "_core")  # numpy 1 and 2
        for module, name, function in (
            ("multiarray", "_reconstruct", _reconstruct),
            ("multiarray", "scalar", _scalar),
            ("numeric", "_frombuffer", _from_buffer),
        )
    },
}


class _PlainUnpickler(pickle.Unpickler):
    def __init__(self, file: IO[bytes], size: int) -> None:
        super().__init__(file, encoding="bytes")
        encode = _StandIn("_codecs.encode", _Encode(size))
        self._may_be_named = {**_MAY_BE_NAMED, ("_codecs", "encode"): encode}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._may_be_named:
            raise _RefusedPickle(shown(f"asks for {module}.{name}", limit=120))
        return self._may_be_named[module, name]


class _Plain:
    """Convert a loaded value to plain data.

    Lists that contain each other many times could unfold to more than any memory, so the number of values is
    limited by the file's size in bytes. So could one long string named many times: equal byte strings share one
    text, and the text of all values and keys together has a limit, which repeated tokens of two bytes stay below.
    Each array is used once: together they have no more bytes than the file.
    """

    def __init__(self, size: int) -> None:
        self.left = size
        self.text_left = _MOST_TEXT * size
        self.array_left = size
        self.texts: dict[bytes, str] = {}

    def value(self, loaded: Any, depth: int = 0) -> Any:
        self.left -= 1
        if self.left < 0:
            raise _RefusedPickle("unfolds to more values than it has bytes")
        if depth > _MOST_DEPTH:
            raise _RefusedPickle(f"has more than {_MOST_DEPTH} lists and dicts in one another")
        if isinstance(loaded, int) and loaded.bit_length() > _MOST_BITS:
            raise _RefusedPickle(f"holds a number of more than {_MOST_BITS} bits")
        if loaded is None or isinstance(loaded, bool | int | float):
            return loaded
        if isinstance(loaded, str | bytes):
            return self._text(loaded)
        if isinstance(loaded, _Array) and loaded.value is not None:
            self.array_left -= loaded.value.nbytes
            if self.array_left < 0:
                raise _RefusedPickle("names one array many times over")
            return loaded.value
        if isinstance(loaded, list | tuple):
            return [self.value(item, depth + 1) for item in loaded]
        if isinstance(loaded, dict):
            return {self._key(key): self.value(item, depth + 1) for key, item in loaded.items()}
        raise _RefusedPickle("holds something that is not plain data")

    def _key(self, key: Any) -> str:
        if not isinstance(key, str | bytes):
            raise _RefusedPickle("has a dict whose keys are not strings")
        return self._text(key)

    def _text(self, loaded: str | bytes) -> str:
        self.text_left -= len(loaded)
        if self.text_left < 0:
            raise _RefusedPickle(f"unfolds to more than {_MOST_TEXT} times as much text as it has bytes")
        if isinstance(loaded, str):
            if not loaded.isascii() and _LONE_SURROGATE.search(loaded):
                raise _RefusedPickle("holds text with half a character (a lone surrogate)")
            return loaded
        if loaded not in self.texts:
            self.texts[loaded] = loaded.decode()
        return self.texts[loaded]
