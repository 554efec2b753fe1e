"""Weight files of saved maps that are cut off, overwritten, missing or elsewhere, and valid ones with other tensors."""

import json
import os
import struct
from collections.abc import Callable, Iterator
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

from support.hostile import Case
from support.maps_folders import SHARD, copied


def resealed(change: Callable[[bytes], bytes], folder: Path) -> Path:
    """Write a valid folder, change a file of it, and update the file's size and hash in the index."""
    place = copied(folder / "maps")
    content = change((place / SHARD).read_bytes())
    (place / SHARD).write_bytes(content)
    index = json.loads((place / "index.json").read_text())
    index["shards"][0].update(bytes=len(content), hash=blake2b(content, digest_size=16).hexdigest())
    (place / "index.json").write_text(json.dumps(index))
    return place


def _spoilt(change: Callable[[bytes], bytes], folder: Path) -> Path:
    place = copied(folder / "maps")
    (place / SHARD).write_bytes(change((place / SHARD).read_bytes()))
    return place


def _header(change: Callable[[dict[str, Any]], Any], content: bytes) -> bytes:
    """Change the header of a safetensors file."""
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    text = json.dumps(change(header) or header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + size :]


def shards() -> Iterator[Case]:
    """Yield files that are cut off, overwritten, missing or elsewhere, and valid ones with other tensors."""
    spoils: dict[str, tuple[Callable[[bytes], bytes], str]] = {
        "cut to nothing": (lambda content: b"", "has 0 bytes, expected "),
        "cut in its header": (lambda content: content[:20], "has 20 bytes, expected "),
        "cut at its end": (lambda content: content[:-1], " bytes, expected "),
        "longer": (lambda content: content + b"\0", " bytes, expected "),
        "with a bit turned": (lambda content: content[:-1] + bytes([content[-1] ^ 1]), "its hash differs"),
        "of zeros": (lambda content: bytes(len(content)), "is not a whole safetensors file"),
        "of noise": (lambda content: np.random.default_rng(0).bytes(len(content)), "is not a whole safetensors file"),
    }
    for name, (change, says) in spoils.items():
        yield Case(f"a shard {name}", partial(_spoilt, change), says)
    lengths = {"0": 0, "2**63": 1 << 63, "2**64 - 1": (1 << 64) - 1, "99 MB": 99_000_000, "a terabyte": 1 << 40}
    for name, length in lengths.items():
        yield Case(
            f"a header of length {name}",
            partial(resealed, lambda content, length=length: struct.pack("<Q", length) + content[8:]),
            "is not a whole safetensors file",
        )
    for name, content in {
        "nothing": b"",
        "eight bytes": bytes(8),
        "noise": np.random.default_rng(1).bytes(500),
        "a nested header": struct.pack("<Q", 100_000) + b"[" * 100_000,
        "a pickle": b"\x80\x04cposix\nsystem\n(X\x02\x00\x00\x00lstR.",
    }.items():
        yield Case(
            f"a sealed shard of {name}", partial(resealed, lambda _, c=content: c), "is not a whole safetensors file"
        )
    for dtype in ("F64", "F32", "BF16", "I16", "U16", "I8", "BOOL", "F8_E4M3"):
        yield Case(f"maps of {dtype}", partial(resealed, partial(_header, partial(_as_type, dtype))), "")
    changes = {
        "maps of another shape": (_shaped([2, 2, 25, 1]), "of shape [2, 2, 25, 1], expected F16 of shape [2, 2, 5, 5]"),
        "maps of two axes": (_shaped([10, 10]), "of shape [10, 10], expected F16 of shape [2, 2, 5, 5]"),
        "maps of a billion rows": (_shaped([2, 2, 10**9, 10**9]), "is not a whole safetensors file"),
        "maps of an overflow": (_shaped([1 << 62, 1 << 62]), "is not a whole safetensors file"),
        "maps under another name": (_renamed("2.encoder", "3.encoder"), "are missing (tensor 2.encoder of maps-"),
        "maps with an escape for a type": (_typed("F16\x1b[2J"), "is not a whole safetensors file"),
        "two maps in one place": (_overlapping, "is not a whole safetensors file"),
    }
    for name, (change, says) in changes.items():
        yield Case(name, partial(resealed, partial(_header, change)), says)
    for name, (place, says) in {
        "missing": (lambda path: None, "is missing"),
        "a folder": (lambda path: path.mkdir(), "is a folder; expected a regular file"),
        "a pipe": (os.mkfifo, "is a FIFO; expected a regular file"),
        "a link to itself": (lambda path: path.symlink_to(path), "is a link to itself; expected a regular file"),
        "a link to nothing": (lambda path: path.symlink_to(path.parent / "nothing"), "is missing"),
        "a device": (lambda path: path.symlink_to("/dev/zero"), "is a device; expected a regular file"),
    }.items():
        yield Case(f"a shard that is {name}", partial(_instead, place), f"{SHARD} {says}")
    yield Case("a shard that is a link out of the folder", _linked_out, "is a link that leads out of its folder")


def _as_type(dtype: str, header: dict[str, Any]) -> None:
    """Change the header so that the second segment's bytes have another type, and a shape that fits them."""
    size = {"F64": 8, "F32": 4, "BF16": 2, "I16": 2, "U16": 2}.get(dtype, 1)
    begin, end = header["2.encoder"]["data_offsets"]
    shape = [2, 2, 5, 5] if size == 2 else [(end - begin) // size]
    header["2.encoder"].update(dtype=dtype, shape=shape)


def _shaped(shape: list[int]) -> Callable[[dict[str, Any]], None]:
    return lambda header: header["2.encoder"].update(shape=shape)


def _typed(dtype: str) -> Callable[[dict[str, Any]], None]:
    return lambda header: header["2.encoder"].update(dtype=dtype)


def _renamed(old: str, new: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda header: {new if name == old else name: part for name, part in header.items()}


def _overlapping(header: dict[str, Any]) -> None:
    header["2.encoder"]["data_offsets"] = header["1.encoder"]["data_offsets"]


def _instead(place: Callable[[Path], Any], folder: Path) -> Path:
    maps = copied(folder / "maps")
    (maps / SHARD).unlink()
    place(maps / SHARD)
    return maps


def _linked_out(folder: Path) -> Path:
    maps = copied(folder / "maps")
    (maps / SHARD).rename(folder / "elsewhere")
    (maps / SHARD).symlink_to(folder / "elsewhere")
    return maps
