"""The one reader of untrusted files: it reads only regular files, opens them without waiting, and checks bounds."""

import errno
import json
import os
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

from headscope.errors import InputError
from headscope.visible import printable, shorten

MOST_RESULT = 16 << 30
"""Maximum bytes of a file of results; sums of the largest models take some gigabytes."""
MOST_DEPTH = 50
"""Maximum nesting depth of lists and objects."""
MOST_PARTS = 4_000_000
"""Maximum number of lists and objects in a JSON file: an empty one takes twenty times the memory of its two characters.
A tokenizer has one for each merge of two pieces, and the largest have 500,000."""


class UnreadableFileError(InputError):
    """A file that is not read; `problem` is the reason, as the part of a sentence that follows the file's name."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{printable(str(path))} {problem}; put the file itself there, or make it again")
        self.problem = problem


def kind_of(mode: int) -> str | None:
    """Return the kind of file that a mode of `os.stat` means, in words; None for a regular file."""
    kinds = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket"}
    return None if stat.S_ISREG(mode) else kinds.get(stat.S_IFMT(mode), "a device")


def check_regular(path: Path, *, most: int = MOST_RESULT) -> int:
    """Return the size of a file in bytes, before a library opens it by its name.

    Raises:
        UnreadableFileError: the file, or the target of a link, is not a regular file or has more than `most` bytes.
        OSError: the file does not exist, or its status cannot be read.
    """
    try:
        status = os.stat(path)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UnreadableFileError(path, "is a link to itself; expected a regular file") from None
        raise
    return _checked(path, status, most)


def open_regular(path: Path, *, most: int = MOST_RESULT) -> BufferedReader:
    """Open a file for reading, with the checks of `check_regular` on the opened file."""
    check_regular(path, most=most)
    # The file may have been replaced since the check, and opening a FIFO would wait for a writer.
    file = open(path, "rb", opener=without_waiting)  # noqa: SIM115
    try:
        _checked(path, os.fstat(file.fileno()), most)
    except BaseException:
        file.close()
        raise
    return file


def read_regular(path: Path, *, most: int) -> bytes:
    """Return a file's bytes; raise errors as `check_regular` does."""
    with open_regular(path, most=most) as file:
        size = os.fstat(file.fileno()).st_size
        # A read allocates the requested memory, however little there is to read.
        content = file.read(size + 1)
        if len(content) > size:  # some system files have size 0 and no end
            content += file.read(most - size)
    if len(content) > most:
        raise UnreadableFileError(path, _too_large(len(content), most))
    return content


def read_json(path: Path, *, most: int, depth: int = MOST_DEPTH, parts: int = MOST_PARTS) -> Any:
    """Read a JSON file.

    Args:
        path: path of the file.
        most: maximum size in bytes.
        depth: maximum nesting depth of lists and objects.
        parts: maximum number of lists and objects.

    Raises:
        UnreadableFileError: a limit is exceeded, or the file is not a regular file or not JSON in UTF-8.
        OSError: the file does not exist, or cannot be read.
    """
    content = read_regular(path, most=most)
    too_deep = f"is nested more than {depth} deep"
    if content.count(b"[") + content.count(b"{") > parts:
        raise UnreadableFileError(path, f"has more than {parts:,} lists and objects")
    try:
        value = json.loads(content.decode("utf-8"))
    except RecursionError:
        raise UnreadableFileError(path, too_deep) from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        why = shorten(printable(str(error)), 100)
        raise UnreadableFileError(path, f"is not JSON ({why})") from None
    except ValueError:
        raise UnreadableFileError(path, "is not JSON (a number has thousands of digits)") from None
    if not within_depth(value, depth):
        raise UnreadableFileError(path, too_deep)
    return value


def without_waiting(path: str, flags: int) -> int:
    """Open a file, as an `opener` of `open`; a FIFO without a writer is opened at once, too."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0))


def _checked(path: Path, status: os.stat_result, most: int) -> int:
    if (kind := kind_of(status.st_mode)) is not None:
        raise UnreadableFileError(path, f"is {kind}; expected a regular file")
    if status.st_size > most:
        raise UnreadableFileError(path, _too_large(status.st_size, most))
    return status.st_size


def _too_large(size: int, most: int) -> str:
    return f"has {size:,} bytes; expected at most {most:,}"


def within_depth(value: Any, most: int) -> bool:
    """Return True if lists and objects are nested at most `most` deep; checked level by level, without recursion."""
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(most):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return True
    return not level
