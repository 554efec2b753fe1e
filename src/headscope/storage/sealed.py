"""JSON files that contain the hash of their content, so that a change or damage is noticed when they are read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headscope.errors import InputError
from headscope.storage.atomic import hash_of
from headscope.storage.bounded import UnreadableFileError, read_json
from headscope.storage.files import write_json

SEAL = "seal"
_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class Sealed:
    """The content of a sealed file.

    Attributes:
        content: any JSON value; a dict does not include its seal.
        whole: whether the content is as it was written: its seal is the hash of the rest.
    """

    content: Any
    whole: bool


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write a dict as JSON with its seal, whole or not at all."""
    write_json(path, {**content, SEAL: seal_of(content)})


def read_sealed(path: Path, *, remedy: str) -> Sealed | None:
    """Read a JSON file; return None if it does not exist.

    Args:
        path: path of the file.
        remedy: instruction to the user if the file cannot be read.

    Raises:
        InputError: the file is not JSON, too large, nested too deeply, or not a regular file.
    """
    try:
        content = read_json(path, most=_MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnreadableFileError as error:
        raise InputError(f"{path} {error.problem}; {remedy}") from None
    whole = isinstance(content, dict) and content.pop(SEAL, None) == seal_of(content)
    return Sealed(content, whole=whole)


def seal_of(content: Mapping[str, Any]) -> str:
    """Return the hash of a dict's JSON, which does not depend on the order of its keys."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False)
    return hash_of(text.encode("utf-8", "surrogatepass"))
