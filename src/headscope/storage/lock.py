"""Locks that allow one run at a time in a folder or at a path; the system releases the lock of a killed run."""

import getpass
import json
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from headscope.errors import OutputError
from headscope.storage.atomic import whole_or_absent
from headscope.storage.bounded import UnreadableFileError, read_json
from headscope.storage.places import check_contents, check_place
from headscope.storage.unfinished import lock_of, sweep_beside

_MOST_BYTES = 1 << 16  # of what a lock says


@dataclass(frozen=True)
class Held:
    """A folder that this run holds.

    Attributes:
        folder: the folder.
        lock: the file in it that is locked.
    """

    folder: Path
    lock: Path

    def check(self) -> None:
        """Refuse to go on where the folder was removed or replaced during the run.

        Raises:
            OutputError: the folder was removed, and the results of the run with it.
        """
        if not self.lock.is_file():
            raise OutputError(
                f"{self.folder} was removed or replaced while this run wrote to it; run the same command again, and "
                "leave the folder alone until it ends"
            )


# The folders that this thread's run holds.
_HELD: ContextVar[Mapping[Path, Held]] = ContextVar("headscope_held", default=MappingProxyType({}))


@contextmanager
def folder_held(folder: Path) -> Iterator[Held]:
    """Hold a folder of results while the block runs; it is made where there is none.

    A folder that was made here and got nothing is removed again. Within the block the same thread may hold it again.

    Raises:
        OutputError: another run holds it, which is named; or a link in it leads to another folder.
    """
    folders = _HELD.get()
    if folder.resolve() in folders:
        yield folders[folder.resolve()]
        return
    lock = lock_of(folder / "run")
    check_contents(folder)
    with _made(folder), _locked(lock, folder):
        this_folder = Held(folder, lock)
        before = _HELD.set({**folders, folder.resolve(): this_folder})
        try:
            yield this_folder
        finally:
            _HELD.reset(before)


def check_held(folder: Path) -> None:
    """Refuse to go on where a folder that this thread's run holds was removed or replaced; see `Held.check`."""
    this_folder = _HELD.get().get(folder.resolve())
    if this_folder is not None:
        this_folder.check()


@contextmanager
def place_held(path: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Hold the place of one file or folder while the block runs, and sweep away what stopped runs left of it.

    Args:
        path: of the file or folder.
        wait: seconds to wait for another run that holds it.

    Raises:
        OutputError: another run holds it, which is named; or it may not be written to.
    """
    check_place(path)
    with _made(path.parent), _locked(lock_of(path), path, wait=wait):
        sweep_beside(path)
        yield


@contextmanager
def placed(path: Path, *, replace: bool = False, wait: float = 0.0) -> Iterator[Path]:
    """Hold a place and write it: `place_held` about `whole_or_absent`, for a result that stands by itself."""
    with place_held(path, wait=wait), whole_or_absent(path, replace=replace) as part:
        yield part


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Make a folder and those above it; what was made here and got nothing is removed again."""
    created = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):  # the first that holds something keeps those above it
            for each in created:
                each.rmdir()


@contextmanager
def _locked(lock: Path, path: Path, *, wait: float = 0.0) -> Iterator[None]:
    from filelock import FileLock, Timeout

    # A lock's state is its thread's own by default: a scan may end in another thread than it began.
    file_lock, process = FileLock(lock, timeout=wait, thread_local=False), os.getpid()
    try:
        file_lock.acquire()
    except Timeout:
        raise OutputError(_held_by(lock, path)) from None
    try:
        lock.write_text(json.dumps(_about()), encoding="utf-8")
        yield
    finally:
        if process == os.getpid():  # a forked process ends with a copy of this block; the lock stays its parent's
            # Before it is let go: whoever waits for the file that went sees that it went, and opens the next.
            with suppress(OSError):
                lock.unlink()
            file_lock.release()


def _about() -> dict[str, Any]:
    """Return what the lock file says of this run."""
    process = {
        "process": os.getpid(),
        "machine": socket.gethostname(),
        "command": " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200] if sys.argv else "",
        "since": datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
    }
    with suppress(KeyError, OSError):  # no such user, as in a container
        return {"user": getpass.getuser(), **process}
    return process


def _held_by(lock: Path, path: Path) -> str:
    """Say which run holds a path, as far as the lock file says."""
    holder = "another run"
    with suppress(OSError, UnreadableFileError, KeyError, TypeError):
        about = read_json(lock, most=_MOST_BYTES)
        user = f" of {about['user']}" if "user" in about else ""
        holder = f"process {about['process']}{user} on {about['machine']} ({about['command']}; since {about['since']})"
    return f"{path} is being written by {holder}; wait until it ends, or give another --out"
