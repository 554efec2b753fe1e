"""The one atomic write: beside the place, onto the disk, then renamed."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b, file_digest
from pathlib import Path

from headscope.errors import OutputError
from headscope.storage.bounded import UnreadableFileError, open_regular
from headscope.storage.unfinished import aside_of, contents, part_of, remove


@contextmanager
def whole_or_absent(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Give a path beside `path` to write a file or folder at; rename it into place if the block succeeds.

    What was written is on the disk before it is renamed. An error or Ctrl-C in the block removes it; of a killed
    process a part stays, which nothing reads and whoever holds the place next removes (`lock`, `parts`).

    Args:
        path: where the file or folder shall be.
        replace: whether what stands at `path` gives way, once the new one is whole.

    Raises:
        OutputError: something stands at `path` and may not be replaced.
    """
    if not replace and not is_free(path):
        raise OutputError(already_there(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = part_of(path)
    try:
        yield part
        settle(part)
        if path.is_dir() or (path.exists() and part.is_dir()):
            _change_places(part, path)
        else:
            os.replace(part, path)
        _settle_folder(path.parent)
    except OSError as error:
        # The user knows the place by its name, not by that of the part beside it.
        if error.filename is not None and os.fsdecode(error.filename).startswith(str(part)):
            error.filename = str(path)
        raise
    finally:
        remove(part)


def write_bytes(path: Path, content: bytes) -> str:
    """Write a file, whole or not at all, and return its hash (`hash_of`); one that stands there gives way.

    Raises:
        IsADirectoryError: a folder stands there, which may hold what nobody meant to lose.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    try:
        with whole_or_absent(path, replace=True) as part:
            part.write_bytes(content)
    except OSError as error:
        error.filename = error.filename or str(path)  # a full disk is reported without a name
        raise
    return hash_of(content)


def hash_of(content: bytes) -> str:
    """Return BLAKE2b of a file's bytes: 32 hex digits."""
    return blake2b(content, digest_size=16).hexdigest()


def hash_of_file(path: Path) -> str | None:
    """Return the hash of a file's bytes, as `hash_of`; None where there is no such file, or something else."""
    try:
        with open_regular(path) as file:
            return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
    except (FileNotFoundError, NotADirectoryError, UnreadableFileError):
        return None


def is_free(path: Path) -> bool:
    """Whether nothing stands at a path, or an empty folder."""
    return not path.exists() or (path.is_dir() and not any(contents(path)))


def already_there(path: Path) -> str:
    """Say that something else stands where results were to go."""
    return f"{path} is there already and holds something else; give another --out, or --force to replace it"


def settle(path: Path) -> None:
    """Wait until a file, or all that is in a folder, is on the disk: a rename alone may get there first."""
    if path.is_dir():
        for each in path.iterdir():
            settle(each)
        _settle_folder(path)
        return
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _settle_folder(folder: Path) -> None:
    if os.name == "nt":  # there a folder cannot be opened
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems do not sync folders
            raise
    finally:
        os.close(handle)


def _change_places(part: Path, path: Path) -> None:
    """Put a new folder where one stands: it cannot be renamed over, so the old one steps aside first."""
    old = aside_of(path)
    os.rename(path, old)
    try:
        os.replace(part, path)
    except BaseException:
        os.rename(old, path)
        raise
    remove(old)
