"""The bytes of a file, a pipe or standard input, without silent waiting and without endless sources."""

import errno
import os
import select
import stat
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from headscope.errors import InputError
from headscope.storage.bounded import without_waiting

GIVE = "give a text file, a .json features file, a directory of them, or - for standard input"
WRITER_SECONDS = 5.0
"""Seconds after which a pipe without a writer is refused, and one with a silent writer causes a warning."""


def source_name(path: str | Path) -> str:
    """Return a file's name in messages: its path as given, made printable; `-` is `standard input`."""
    name = "standard input" if str(path) == "-" else str(path)
    name = name if name.isprintable() else repr(name)[1:-1]
    return name if len(name) <= 300 else name[:300] + "..."


def is_pipe(path: str | Path) -> bool:
    """Return True if a path is a pipe: made by `mkfifo`, or the shell's `<(...)`. Like `-` it can be read only once."""
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def read_once(paths: Iterable[str]) -> bool:
    """Return True if any of the paths can be read only once: standard input, or a pipe."""
    return any(path == "-" or is_pipe(path) for path in paths)


def other_than_file(path: str | Path) -> str | None:
    """Return the kind of a path that is not a file, folder or pipe: a socket or a device; else None.

    The null device is treated as an empty file.

    Raises:
        OSError: the status of the path cannot be read.
    """
    status = os.stat(path)
    if stat.S_ISSOCK(status.st_mode):
        return "a socket"
    if stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode):
        return None if os.path.samestat(status, os.stat(os.devnull)) else "a device"
    return None


def file_chunks(path: str | Path, name: str) -> Iterator[bytes]:
    """Yield the bytes of a file (`-`: standard input) as they arrive, none empty.

    Raises:
        InputError: it cannot be read, is a socket or a device, or a pipe to which nothing is written.
    """
    try:
        if str(path) == "-":
            stream = _standard_input()
            # read1 returns what a pipe has, and does not wait for a full chunk
            read: Callable[[int], bytes] = getattr(stream, "read1", stream.read)
            yield from iter(lambda: read(CHUNK), b"")
            return
        if kind := other_than_file(path):
            raise InputError(f"{name} is {kind}, not a file; {GIVE}")
        # A plain open() of a pipe would wait for its writer, however long that takes.
        with open(path, "rb", buffering=0, opener=without_waiting) as stream:
            if stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode):
                yield from _piped(stream.fileno(), name)
            else:
                yield from iter(lambda: stream.read(CHUNK), b"")
    except OSError as error:
        raise unreadable(name, error) from None


def _piped(pipe: int, name: str) -> Iterator[bytes]:
    """Yield the data written to a pipe that was opened without waiting."""
    heard, begun, notified = time.monotonic(), False, False
    while True:
        try:
            data = os.read(pipe, CHUNK)
        except BlockingIOError:  # there is a writer that has not written yet
            select.select([pipe], [], [], 1.0)
            if not notified and time.monotonic() - heard > WRITER_SECONDS:
                warnings.warn(f"waiting for {name}, a pipe whose writer is silent", stacklevel=2)
                notified = True
            continue
        if data:
            yield data
            heard, begun = time.monotonic(), True
        elif begun:
            return
        elif time.monotonic() - heard > WRITER_SECONDS:
            raise InputError(
                f"{name} is a pipe that nothing was written to within {WRITER_SECONDS:g} seconds; start what writes "
                "to it (it can be read only once), or give a file"
            )
        else:
            time.sleep(0.02)


def _standard_input() -> Any:
    stream: Any = getattr(sys.stdin, "buffer", None)
    if stream is None:  # as in a notebook
        raise InputError("there is no standard input to read here; give a file")
    return stream


def missing(name: str, give: str = GIVE) -> InputError:
    """Return the error for a path that does not exist."""
    return InputError(f"no such file: {name}; {give}")


def unreadable(name: str, error: OSError, give: str = GIVE) -> InputError:
    """Return the error for a file that the system cannot read."""
    # A name is too long where a text was given in place of its file.
    if isinstance(error, FileNotFoundError | NotADirectoryError) or error.errno == errno.ENAMETOOLONG:
        return missing(name, give)
    return InputError(f"cannot read {name}: {(error.strerror or str(error)).lower()}; {give}")


CHUNK = 1 << 16  # bytes read, and at most unpacked, at a time
GZIP_MAGIC = b"\x1f\x8b"


def gunzip(chunks: Iterable[bytes], *, name: str) -> Iterator[bytes]:
    """Yield the unpacked bytes, none empty and at most 64 KiB at a time, whatever the size of an unpacked chunk.

    `gzip.GzipFile` needs a stream that can be read from its start, which a pipe whose first bytes were consumed is not.
    Several members in a row and zeros after the last are accepted.

    Raises:
        InputError: the data is broken or ends too early; `name` is the name of the file in the error.
    """
    member = zlib.decompressobj(wbits=31)
    try:
        for chunk in chunks:
            while chunk:
                if member.eof:
                    if not (chunk := chunk.lstrip(b"\0")):
                        break
                    member = zlib.decompressobj(wbits=31)
                if data := member.decompress(chunk, CHUNK):
                    yield data
                chunk = member.unconsumed_tail or member.unused_data
    except zlib.error:
        raise InputError(f"{name} is broken: its gzip data cannot be unpacked; make or fetch it again") from None
    if not member.eof:
        raise InputError(f"{name} is broken: its gzip data ends too early; make or fetch it again")
