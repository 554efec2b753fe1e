"""Files that are whole or absent: written beside their place and renamed into it."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a file beside `path`, then rename it into place; nothing half-written is ever seen."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write(beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8; a lone surrogate, as of a file's name that is no UTF-8, as `\\udce9`."""
    write_atomically(path, lambda beside: _fill(beside, text.encode(errors="backslashreplace")))


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file with stable layout."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n")


def write_parquet(path: Path, table: pd.DataFrame) -> None:
    """Write a table as Parquet."""
    write_atomically(path, lambda beside: table.to_parquet(beside, index=False))


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], *, about: Mapping[str, str]) -> None:
    """Write named arrays as safetensors, with words about them."""
    from safetensors.numpy import save

    # ascontiguousarray would make vectors of single numbers.
    ready = {name: np.ascontiguousarray(array).reshape(array.shape) for name, array in arrays.items()}
    content = save(ready, metadata=dict(about))
    # Not save_file: it hides a full disk in an error of its own, and lets nobody else read the file.
    write_atomically(path, lambda beside: _fill(beside, content))


def read_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Read named arrays and the words about them."""
    from safetensors import safe_open

    with safe_open(str(path), framework="numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118


def _fill(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
