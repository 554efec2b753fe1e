"""Pickles of attention maps in the format of the paper's code that are damaged or malicious."""

import os
import pickle
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from support.hostile import Case
from support.hostile_index import ODD
from support.hostile_rows import WRONG

MARK = "was-here"
TOO_LARGE = "is refused: it holds a number of more than 64 bits"


def right(*, dtype: str = "f2", by_word: bool = False) -> list[dict[str, Any]]:
    """Return two entries of a treebank, with two layers of two heads that attend to all tokens uniformly."""
    names = ["[CLS]", "cat", "##s", "sleep", "[SEP]"]
    rows = 4 if by_word else 5
    return [
        {
            "attns": np.full((2, 2, rows, rows), 1 / rows, dtype=dtype),
            "tokens": list(names),
            "words": ["cats", "sleep"],
            "heads": [2, 0],
            "relns": ["nsubj", "root"],
        }
        for _ in range(2)
    ]


def written(content: bytes, folder: Path) -> Path:
    path = folder / "maps.pkl"
    path.write_bytes(content)
    return path


def _pickled(make: Callable[[], Any], protocol: int, folder: Path) -> Path:
    return written(pickle.dumps(make(), protocol), folder)


def _spoilt(change: Callable[[np.ndarray], None], dtype: str, by_word: bool) -> list[dict[str, Any]]:
    entries = right(dtype=dtype, by_word=by_word)
    change(entries[1]["attns"][1, 0, 2])
    return entries


def pickled_rows() -> Iterator[Case]:
    """Yield pickles in which the third row of head 2-1 of the second entry cannot come from a softmax."""
    for by_word in (False, True):
        form = "words" if by_word else "tokens"
        for dtype in ("<f2", "<f4", ">f4", "<f8"):
            for name, (change, says) in WRONG.items():
                yield Case(
                    f"pickled {form} {name} in {dtype}",
                    partial(_pickled, partial(_spoilt, change, dtype, by_word), 2),
                    f", entry 2: row 3 of head 2-1 {says}",
                )
            yield Case(
                f"pickled {form} that are right in {dtype}",
                partial(_pickled, partial(right, dtype=dtype, by_word=by_word), 2),
                None,
            )


def _changed(path: tuple[Any, ...], value: Any) -> list[dict[str, Any]]:
    entries: Any = right()
    place = entries
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return entries


def _both_forms() -> list[dict[str, Any]]:
    return [right()[0], right(by_word=True)[1]]


def pickled_entries() -> Iterator[Case]:
    """Yield entries that do not have the format of the paper's code."""
    for name, value in ODD.items():
        for part in ("attns", "tokens", "words"):
            says = TOO_LARGE if name == "huge" else None if (part, name) == ("words", "texts") else "entry 2: "
            yield Case(f"pickled {part} is {name}", partial(_pickled, partial(_changed, (1, part), value), 4), says)
        says = TOO_LARGE if name == "huge" else "entry 2: expected"
        yield Case(f"an entry is {name}", partial(_pickled, partial(_changed, (1,), value), 4), says)
    arrays = {
        "whole numbers": (np.full((2, 2, 5, 5), 1), "found an array of int64"),
        "truths": (np.ones((2, 2, 5, 5), dtype=bool), "found an array of bool"),
        "bytes": (np.ones((2, 2, 5, 5), dtype=np.uint8), "found an array of uint8"),
        "three axes": (np.full((2, 5, 5), 0.2), "expected attns to have shape [layers, heads, n, n]"),
        "no layers": (np.zeros((0, 2, 5, 5)), "expected attns to have shape [layers, heads, n, n]"),
        "no square": (np.full((2, 2, 5, 4), 0.25), "expected attns to have shape [layers, heads, n, n]"),
        "another model's": (np.full((3, 2, 5, 5), 0.2), "has 3 layers of 2 heads, expected 2 of 2 as in entry 1"),
        "fewer rows": (np.full((2, 2, 3, 3), 1 / 3), "attns has 3 rows, expected 5 (its tokens) or 4 (its words"),
    }
    for name, (value, says) in arrays.items():
        yield Case(f"attns of {name}", partial(_pickled, partial(_changed, (1, "attns"), value), 4), says)
    yield Case("entries by token and by word", partial(_pickled, _both_forms, 4), "its attention is by token and that")
    for name, value in {"nothing": [], "a dict": {}, "an array": np.zeros(3), "a text": "x", "none": None}.items():
        yield Case(
            f"a pickle of {name}", partial(_pickled, lambda v=value: v, 4), "expected a list of dicts with attns"
        )


class Calls:
    """Pickle as a call."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def _harmful(function: Callable[..., Any], arguments: Callable[[str], tuple[Any, ...]], protocol: int, folder: Path):
    return written(pickle.dumps([Calls(function, *arguments(str(folder / MARK)))], protocol), folder)


def _named(module: str, name: str, folder: Path) -> Path:
    names = b"".join(b"\x8c" + bytes([len(part.encode())]) + part.encode() for part in (module, name))
    return written(b"\x80\x04" + names + b"\x93)R.", folder)


def pickled_calls() -> Iterator[Case]:
    """Yield pickles that would run code: by a call, a class, a dotted name or an import."""
    calls: dict[str, tuple[Callable[..., Any], Callable[[str], tuple[Any, ...]]]] = {
        "system": (os.system, lambda mark: (f"touch {mark}",)),
        "eval": (eval, lambda mark: (f"open({mark!r}, 'w')",)),
        "exec": (exec, lambda mark: (f"open({mark!r}, 'w')",)),
        "open": (open, lambda mark: (mark, "w")),
        "mkdir": (os.mkdir, lambda mark: (mark,)),
        "array to a file": (np.save, lambda mark: (mark, 1)),
    }
    for name, (function, arguments) in calls.items():
        for protocol in (0, 1, 2, 3, 4, 5):
            yield Case(
                f"{name} by protocol {protocol}", partial(_harmful, function, arguments, protocol), "is refused: it "
            )
    for module, name in (
        *(("builtins", "getattr"), ("builtins", "compile"), ("builtins", "__import__"), ("__builtin__", "eval")),
        *(("os", "popen"), ("nt", "system"), ("subprocess", "Popen"), ("runpy", "run_path"), ("pty", "spawn")),
        *(("importlib", "import_module"), ("ctypes", "CDLL"), ("pickle", "loads"), ("marshal", "loads")),
        *(("numpy", "load"), ("numpy", "fromfile"), ("numpy", "memmap"), ("numpy", "ndarray.tofile")),
        *(("numpy.f2py.diagnose", "run"), ("numpy.testing", "rundocs"), ("torch", "load"), ("torch.hub", "load")),
        *(("urllib.request", "urlopen"), ("socket", "socket"), ("webbrowser", "open"), ("code", "interact")),
        *(("antigravity", "x"), ("this", "x"), ("_codecs", "decode"), ("operator", "attrgetter")),
        *(("headscope.maps.unpickling", "_Array"), ("functools", "partial"), ("types", "CodeType")),
        ("a\x1b[2J", "b\u202e"),
    ):
        yield Case(
            f"{module}.{name} by name".encode("ascii", "replace").decode().replace("\x1b", "?"),
            partial(_named, module, name),
            "is refused: it asks",
        )


LONG = struct.pack("<i", 20_000) + b"a" * 20_000
RAW = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R(K\x01"
F8 = b"cnumpy\ndtype\nU\x02f8K\x00K\x01\x87R"


def _array(shape: bytes, *, dtype: bytes = F8, raw: bytes = b"C\x02ab") -> bytes:
    return b"\x80\x04" + RAW + shape + dtype + b"\x89" + raw + b"tb."


def _one_array_many_times() -> bytes:
    """Return a pickle that names one megabyte ten thousand times: expanded it would take ten gigabytes."""
    array = np.full((1, 1, 512, 512), 1 / 512, dtype=np.float32)
    entry = {"attns": array, "tokens": ["a"] * 512}
    return pickle.dumps([dict(entry) for _ in range(3)], 4)


def _nested(depth: int, key: str) -> bytes:
    found: Any = []
    for _ in range(depth):
        found = [found] if key == "list" else {"x": found}
    return pickle.dumps([{**right()[0], "more": found}], 4)


def pickled_bombs() -> Iterator[Case]:
    """Yield small files that would fill memory or disk, or crash their reader."""
    refused = "is refused: it "
    contents: dict[str, tuple[bytes, str]] = {
        "two billion empty rows": (
            _array(b"(J\xff\xff\xff\x7fK\x00t", raw=b"C\x00"), refused + "holds an array of shape (2147483647, 0)"),
        "a shape of more than its bytes": (_array(b"(J\xff\xff\xff\x7ft"), refused + "holds an array of shape"),
        "a negative shape": (_array(b"(J\xff\xff\xff\xfft"), refused + "holds an array of shape (-1,)"),
        "a shape of truths": (_array(b"(\x88t", raw=b"C\x08" + bytes(8)), refused + "holds an array of shape (True,)"),
        "forty axes": (
            _array(b"(" + b"K\x01" * 40 + b"t", raw=b"C\x08" + bytes(8)), refused + "holds an array of shape"),
        "objects in an array": (
            pickle.dumps(np.array([{}], dtype=object)), refused + "holds an array of type 'O8'"),
        "an array of texts": (pickle.dumps(np.array(["a"])), refused + "holds an array of type"),
        "a record array": (pickle.dumps(np.zeros(2, dtype=[("a", "f8")])), refused + "holds an array of type 'V8'"),
        "complex numbers": (pickle.dumps(np.ones(2, dtype=complex)), refused + "holds an array of type 'c16'"),
        "one array many times": (_one_array_many_times(), refused + "names one array many times over"),
        "lists in lists": (_nested(100, "list"), refused + "has more than 64 lists and dicts in one another"),
        "dicts in dicts": (_nested(100, "dict"), refused + "has more than 64 lists and dicts in one another"),
        "lists of ten thousand levels": (b"\x80\x02" + b"]" * 10_000 + b"a" * 9_999 + b".", refused),
        "tuples of a hundred thousand levels": (b"\x80\x02)" + b"\x85" * 100_000 + b".", refused),
        "a huge number": (pickle.dumps([1 << 100_000]), refused + "holds a number of more than 64 bits"),
        "half a character": (pickle.dumps(["\ud800"]), refused + "holds text with half a character"),
        "a memo of two billion": (b"\x80\x02Nr" + struct.pack("<I", 2**31 - 1) + b".", refused + "asks for a memo"),
        "a frame of a petabyte": (b"\x80\x04\x95" + struct.pack("<Q", 2**50) + b"N.", refused + "announces"),
        "a text named many times": (
            b"\x80\x02](X" + LONG + b"q\x00" + b"h\x00" * 10_000 + b"e.", refused + "unfolds to more than 64 times"),
        "a text of 2 GB": (b"\x80\x02X\xff\xff\xff\x7fab.", "is not a whole pickle of plain data ("),
        "a text of 2**64": (b"\x80\x04\x8e" + b"\xff" * 8 + b".", "is not a whole pickle of plain data ("),
        "nothing": (b"", "is not a whole pickle of plain data ("),
        "no pickle": (b"\x1b[2Jno pickle", "is not a whole pickle of plain data ("),
        "zeros": (bytes(1000), "is not a whole pickle of plain data ("),
        "a zip file": (b"PK\x03\x04" + bytes(100), ""),
        "JSON": (b'[{"attns": []}]', "is not a whole pickle of plain data ("),
        "protocol 9": (b"\x80\x09N.", "is not a whole pickle of plain data ("),
        "a place of the memo that is empty": (b"\x80\x02h\x05.", "is not a whole pickle of plain data ("),
        "bytes that are no text": (b"\x80\x02U\x01\xffa.", "is not a whole pickle of plain data ("),
        "keys that are numbers": (pickle.dumps([{1: 2}]), refused + "has a dict whose keys are not strings"),
        "a set": (pickle.dumps([{1}], 4), refused + "uses the pickle instruction EMPTY_SET"),
        "a persistent id": (b"\x80\x02U\x01aQ.", refused + "uses the pickle instruction BINPERSID"),
        "the extension registry": (b"\x80\x02\x82\x01.", refused + "uses the pickle instruction EXT1"),
        "an old object": (b"(S'x'\nios\nsystem\n.", refused + "uses the pickle instruction INST"),
    }  # fmt: skip
    for name, (content, says) in contents.items():
        yield Case(f"a pickle of {name}", partial(written, content), says)
    content = pickle.dumps(right(), 2)
    for share in np.linspace(0.02, 0.98, 13):
        cut = content[: int(share * len(content))]
        yield Case(f"a pickle cut at {share:.2f}", partial(written, cut), "is not a whole pickle of plain data (")


def pickles() -> Iterator[Case]:
    """Yield every pickle that `headscope convert` must refuse, or accept where it is valid."""
    for cases in (pickled_rows, pickled_entries, pickled_calls, pickled_bombs):
        yield from cases()
