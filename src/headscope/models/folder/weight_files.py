"""The weights of a model folder, checked by their headers: only complete safetensors files in the folder itself."""

import re
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from headscope.errors import ModelError
from headscope.models.folder.json_files import read_object
from headscope.models.folder.shown import a_kind, shown

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
_DISTRIBUTED = re.compile(r"shard-\d{5}-model-\d{5}-of-\d{5}\.safetensors")
_MOST_INDEX = 32 << 20
_MOST_HEADER = 16 << 20  # bytes per file, enough for 100,000 tensors
_AGAIN = "save the model again with save_pretrained, which writes safetensors"


@dataclass(frozen=True)
class WeightFiles:
    """Totals from the headers of weight files.

    Attributes:
        tensors: number of tensors.
        numbers: number of values in all tensors together.
    """

    tensors: int
    numbers: int


def read_headers(folder: Path) -> WeightFiles:
    """Read the headers of a folder's weights; nothing else of them is read.

    Raises:
        ModelError: a file is missing, is a pickle, is outside of the folder, or is incomplete.
    """
    for path in sorted(folder.iterdir()):
        if _DISTRIBUTED.match(path.name):
            raise ModelError(
                f"{shown(path)} is part of a distributed checkpoint, which would be read in place of the weights that "
                f"are checked; {_AGAIN}, or take it out of the folder"
            )
    files = [folder / WEIGHTS] if (folder / WEIGHTS).is_file() else _shards(folder)
    headers = [_read_header(file) for file in files]
    return WeightFiles(sum(each.tensors for each in headers), sum(each.numbers for each in headers))


def _shards(folder: Path) -> list[Path]:
    """Return the files that an index names, without duplicates.

    transformers passes any file whose name does not end in `.safetensors` to torch, which unpickles it.
    """
    index = folder / INDEX
    places = read_object(index, most=_MOST_INDEX).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise ModelError(
            f"{shown(index)} has no weight_map (it is {a_kind(places)}); expected an object from each weight's name "
            f"to its file: {_AGAIN}"
        )
    files: list[Path] = []
    for name in dict.fromkeys(file if isinstance(file, str) else None for file in places.values()):
        if name is None:
            raise ModelError(f"{shown(index)} names files that are not text; expected file names: {_AGAIN}")
        if name != Path(name).name or "\\" in name or "\0" in name:
            fault = f"is not a file of this folder; expected file names alone: {_AGAIN}"
        elif not name.endswith(".safetensors"):
            fault = f"is not a safetensors file; pickled weights are never read: {_AGAIN}"
        elif not (folder / name).is_file():
            fault = "is not there; expected every shard in the folder: copy or download it again"
        else:
            files.append(folder / name)
            continue
        raise ModelError(f"{shown(index)} names {shown(name, limit=60)}, which {fault}")
    return files


def _read_header(path: Path) -> WeightFiles:
    """Check one file: first its length against its header, then the header by safetensors' own rules."""
    size = path.stat().st_size
    with path.open("rb") as file:
        begin = file.read(8)
    if begin[:4] == b"PK\x03\x04" or (begin[:1] == b"\x80" and begin[1:2] in b"\2\3\4\5"):
        raise ModelError(f"{shown(path)} is a pickle inside, and pickles are never read; {_AGAIN}")
    if len(begin) < 8:
        raise ModelError(f"{shown(path)} has {size} bytes, and a safetensors file has more; {_AGAIN}")
    (header,) = struct.unpack("<Q", begin)
    if header > _MOST_HEADER:
        raise ModelError(
            f"{shown(path)} is not a safetensors file: its header would have {header:,} bytes, expected at most "
            f"{_MOST_HEADER:,}; {_AGAIN}"
        )
    if header + 8 > size:
        raise ModelError(
            f"{shown(path)} is cut off: its header has {header:,} bytes and the file {size:,}; copy or download it "
            "again"
        )
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="numpy") as opened:
            shapes: list[Any] = [opened.get_slice(name).get_shape() for name in opened.keys()]  # noqa: SIM118
    except SafetensorError as error:
        raise ModelError(
            f"{shown(path)} is cut off or no safetensors file ({shown(error, limit=100)}); copy or download it again"
        ) from error
    return WeightFiles(len(shapes), sum(map(prod, shapes)))
