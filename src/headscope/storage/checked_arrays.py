"""Named arrays in a file, with metadata that identify it and a hash of its content that shows if it is complete."""

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.storage.bounded import UnreadableFileError
from headscope.storage.files import read_arrays, write_arrays

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ABOUT, _CONTENT = "about", "content"


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
