"""The one atomic write: to a temporary path next to the target, synced to disk, then renamed."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b, file_digest
from pathlib import Path

from headscope.errors import OutputError
from headscope.storage.bounded import UnreadableFileError, open_regular
from headscope.storage.places import aside_of, check_place, check_replaced, contents, is_replaceable, part_of, remove


@contextmanager
def whole_or_absent(path: Path, *, replace: bool = False, owned: bool = False) -> Iterator[Path]:
    """Yield a path next to `path` to write a file or folder to; rename it to `path` if the block succeeds.

    The content is on disk before it is renamed. An error or Ctrl-C in the block removes it; a killed process leaves a
    part, which nothing reads and which the next process that holds the path removes (`lock`, `parts`).

    Args:
        path: target path of the file or folder.
        replace: whether a file, or a folder that headscope wrote, is replaced once the new one is whole.
        owned: whether the caller knows that headscope wrote the folder at `path`, though it has no mark.

    Raises:
        OutputError: something is at `path` and may not be replaced.
    """
    check_place(path)
    if not replace and not is_free(path):
        raise OutputError(already_there(path))
    if not owned:
        check_replaced(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = part_of(path)
    try:
        yield part
        settle(part)
        if path.is_dir() or (path.exists() and part.is_dir()):
            _exchange(part, path)
        else:
            os.replace(part, path)
        _settle_folder(path.parent)
    except OSError as error:
        # The user knows the target by its name, not by that of the temporary part next to it.
        if error.filename is not None and os.fsdecode(error.filename).startswith(str(part)):
            error.filename = str(path)
        raise
    finally:
        remove(part)


def write_bytes(path: Path, content: bytes) -> str:
    """Write a file, whole or not at all, and return its hash (`hash_of`); an existing file is replaced.

    Raises:
        IsADirectoryError: the path is a folder, which may hold files that nobody meant to lose.
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
    """Return the BLAKE2b hash of a file's bytes: 32 hex digits."""
    return blake2b(content, digest_size=16).hexdigest()


def hash_of_file(path: Path) -> str | None:
    """Return the hash of a file's bytes, as `hash_of`; None if the file is missing or not a regular file."""
    try:
        with open_regular(path) as file:
            return file_digest(file, lambda: blake2b(digest_size=16)).hexdigest()
    except (FileNotFoundError, NotADirectoryError, UnreadableFileError):
        return None


def is_free(path: Path) -> bool:
    """Return True if a path does not exist, or is an empty folder."""
    return not path.exists() or (path.is_dir() and not any(contents(path)))


def already_there(path: Path) -> str:
    """Return the message for an output path that exists already."""
    if is_replaceable(path):
        return f"{path} is there already; give another --out, or --force to replace it"
    return f"{path} is there already and holds something that headscope did not write; give another --out"


def settle(path: Path) -> None:
    """Wait until a file, or everything in a folder, is on disk: a rename alone may be stored first."""
    if path.is_dir():
        for each in path.iterdir():
            settle(each)
        _settle_folder(path)
        return
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def _settle_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows cannot open a folder
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems do not sync folders
            raise
    finally:
        os.close(handle)


def _exchange(part: Path, path: Path) -> None:
    """Replace an old folder by a new one; if the process is killed in between, `sweep_beside` restores the old one."""
    old = aside_of(path)
    os.rename(path, old)
    try:
        os.replace(part, path)
    except BaseException:
        os.rename(old, path)
        raise
    remove(old)
