"""The weights of a model folder: the headers of their files, and the size of the model that a configuration defines."""

import re
import struct
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

from headscope.models.folder.files import is_plain_name, read_object, refusal
from headscope.visible import described, shown

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
_DISTRIBUTED = re.compile(r"shard-\d{5}-model-\d{5}-of-\d{5}\.safetensors")
_MOST_INDEX = 32 << 20
_MOST_HEADER = 16 << 20  # bytes per file, enough for 100,000 tensors
_SAVED = "the config.json that was saved with the weights"
_SPARE = 1 << 24
"""Numbers that may be missing from any checkpoint: a small model's head, tables of positions."""
_PACKED = 32  # one number of a quantized checkpoint may represent this many


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
            # It would be read in place of the weights that are checked.
            raise refusal(path, "is part of a distributed checkpoint", expected="weights in model.safetensors")
    files = [folder / WEIGHTS] if (folder / WEIGHTS).is_file() else _shards(folder)
    headers = [read_header(file) for file in files]
    return WeightFiles(sum(each.tensors for each in headers), sum(each.numbers for each in headers))


def _shards(folder: Path) -> list[Path]:
    """Return the files that an index names, without duplicates.

    transformers passes any file whose name does not end in `.safetensors` to torch, which unpickles it.
    """
    index = folder / INDEX
    places = read_object(index, most=_MOST_INDEX).get("weight_map")
    if not isinstance(places, dict) or not places:
        expected = "an object from each weight's name to its file"
        raise refusal(index, f"has no weight_map (it is {described(places)})", expected=expected)
    files = []
    for name in dict.fromkeys(map(str, places.values())):
        if not is_plain_name(name):
            fault = "is not a file of this folder"
        elif not name.endswith(".safetensors"):
            fault = "is not a safetensors file; pickled weights are never read"
        elif not (folder / name).is_file():
            fault = "is missing"
        else:
            files.append(folder / name)
            continue
        raise refusal(index, f"names {shown(name, limit=60)}, which {fault}")
    return files


def read_header(path: Path) -> WeightFiles:
    """Check one file: first its length against its header, then the header by safetensors' own rules.

    Raises:
        ModelError: it is a pickle, or is incomplete.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        begin = file.read(8)
    if begin[:4] == b"PK\x03\x04" or (begin[:1] == b"\x80" and begin[1:2] in b"\2\3\4\5"):
        raise refusal(path, "is a pickle inside, and pickles are never read")
    header = struct.unpack("<Q", begin)[0] if len(begin) == 8 else _MOST_HEADER + 1
    if header > _MOST_HEADER:
        raise refusal(path, "is not a safetensors file: it does not begin with the size of a header")
    if header + 8 > size:
        raise refusal(path, f"is cut off: its header has {header:,} bytes and the file {size:,}")
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="numpy") as opened:
            shapes: list[Any] = [opened.get_slice(name).get_shape() for name in opened.keys()]  # noqa: SIM118
    except SafetensorError as error:
        raise refusal(path, f"is cut off or no safetensors file ({shown(error, limit=100)})") from error
    return WeightFiles(len(shapes), sum(map(prod, shapes)))


def read_config(folder: Path) -> Any:
    """Read a folder's configuration with the class of its family.

    Raises:
        ModelError: the configuration names a part that is not a configuration.
    """
    from transformers import AutoConfig, PreTrainedConfig

    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    if not isinstance(config.get_text_config(), PreTrainedConfig):
        problem = "names a part for text (text_config ...) that its family does not have"
        raise refusal(folder / "config.json", problem, expected=_SAVED)
    return config


def check_implied(auto: Any, config: Any, folder: Path, weight_files: WeightFiles) -> None:
    """Refuse a configuration that defines a far larger model than its folder's weights.

    transformers allocates what a checkpoint lacks, or has in another shape, before it reports it. Here the model is
    built on the meta device, without memory, and its numbers are counted.

    Args:
        auto: one of transformers' auto classes.
        config: the configuration; it must not be shared with a model that is kept.
        folder: the model folder, checked.
        weight_files: summary of the headers of the weight files.

    Raises:
        ModelError: the model is too large; gives both numbers.
    """
    import torch

    with torch.random.fork_rng(devices=[]), torch.device("meta"):
        model = auto.from_config(config, trust_remote_code=False)
    parts = [*model.parameters(), *model.buffers()]
    numbers = sum(part.numel() for part in parts)
    packed = _PACKED if getattr(config, "quantization_config", None) is not None else 1
    # A head may be as large as the embeddings, so twice the checkpoint's numbers is acceptable.
    if numbers > 2 * packed * weight_files.numbers + _SPARE:
        problem = f"makes a model of {numbers:,} numbers, and the weights next to it hold {weight_files.numbers:,}"
        raise refusal(folder / "config.json", problem, expected=_SAVED)
