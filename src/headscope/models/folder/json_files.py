"""The files of a model folder: that they are files, and of the small JSON ones that they are objects within bounds."""

from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from headscope.errors import ModelError
from headscope.models.folder.shown import a_kind, shown
from headscope.storage.bounded import UnreadableFileError, kind_of, read_json

MOST_BYTES = 4 << 20
"""A configuration of 100,000 labels takes as much; real ones take kilobytes."""


def check_kinds(folder: Path) -> None:
    """Refuse a folder with a device, a FIFO or a socket, or a link to one: transformers may open what lies there.

    Raises:
        ModelError: names it.
    """
    for path in sorted(folder.iterdir()):
        # A link that leads nowhere is as good as none.
        with suppress(FileNotFoundError):
            mode = path.stat().st_mode
            if not S_ISDIR(mode) and (kind := kind_of(mode)) is not None:
                raise ModelError(f"{shown(path)} is {kind}; expected files alone: take it out of the folder")


def read_object(path: Path, *, most: int = MOST_BYTES, again: str = "save the model again") -> dict[str, Any]:
    """Read a file that holds a JSON object.

    Args:
        path: the file.
        most: bytes that it may have.
        again: what the reader can do about a broken one.

    Raises:
        ModelError: it is no regular file, too large, not JSON, nested too deeply, or holds something else.
    """
    try:
        value = read_json(path, most=most)
    except UnreadableFileError as error:
        raise ModelError(f"{shown(path)} {error.problem}; {again}") from None
    if not isinstance(value, dict):
        raise ModelError(f"{shown(path)} holds {a_kind(value)}; expected an object in braces: {again}")
    return value
