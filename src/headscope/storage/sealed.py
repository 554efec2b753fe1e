"""Files that contain the hash of their content, so that a change or damage is noticed when they are read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.errors import InputError
from headscope.storage.atomic import hash_of
from headscope.storage.bounded import UnreadableFileError, read_json
from headscope.storage.files import read_arrays, write_arrays, write_json

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEAL = "seal"
_MOST_BYTES = 64 << 20
_ABOUT, _CONTENT = "about", "content"


def signature_id(content: Mapping[str, Any]) -> str:
    """Return 16 hex digits of BLAKE2b over a record's JSON with sorted keys."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


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


def write_checked(path: Path, arrays: "Mapping[str, NDArray[Any]]", *, about: Mapping[str, str]) -> None:
    """Write arrays whole or not at all, with metadata and a hash of both."""
    # The metadata are one string, since the format does not keep the order of several: equal content gives equal files.
    header = json.dumps({**about, _CONTENT: _hash(arrays, about)}, sort_keys=True)
    write_arrays(path, arrays, about={_ABOUT: header})


def read_checked(path: Path) -> "tuple[dict[str, NDArray[Any]], dict[str, str]] | None":
    """Read a file of `write_checked`; None if it is missing, or not as it was written."""
    from safetensors import SafetensorError

    try:
        arrays, header = read_arrays(path)
        about = json.loads(header[_ABOUT])
        content = about.pop(_CONTENT)
    except (FileNotFoundError, NotADirectoryError, UnreadableFileError):
        return None
    except (SafetensorError, ValueError, KeyError, AttributeError, TypeError):
        return None
    return (arrays, about) if content == _hash(arrays, about) else None


def _hash(arrays: "Mapping[str, NDArray[Any]]", about: Mapping[str, str]) -> str:
    digest = blake2b(digest_size=16)
    for name, word in sorted(about.items()):
        digest.update(f"{name}\0{word}\0".encode("utf-8", "surrogatepass"))
    for name, array in sorted(arrays.items()):
        digest.update(f"{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()
