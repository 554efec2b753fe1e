"""Locks on output paths, and temporary disk space that is removed after its run or by the next run."""

import getpass
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from weakref import WeakValueDictionary, finalize

from headscope.errors import OutputError
from headscope.storage.atomic import whole_or_absent
from headscope.storage.bounded import UnreadableFileError, read_regular
from headscope.storage.places import (
    LOCK,
    SCRATCH,
    beside,
    check_contents,
    check_place,
    lock_of,
    remove,
    sweep_beside,
    unlocked,
)
from headscope.visible import shown

_MOST_BYTES = 1 << 16  # maximum size of a lock file


@dataclass(frozen=True)
class Held:
    """A folder that this run holds a lock on.

    Attributes:
        folder: the folder.
        lock: the locked file in the folder.
    """

    folder: Path
    lock: Path

    def check(self) -> None:
        """Raise an error if the folder was removed or replaced during the run.

        Raises:
            OutputError: the folder was removed, together with the results of the run.
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
    """Hold a folder of results while the block runs; it is created if it does not exist.

    A folder that was created here and stayed empty is removed again. Within the block the same thread may hold it
    again.

    Raises:
        OutputError: another run, named in the message, holds it; or a link in it leads to another folder.
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
    """Raise an error if a folder that this thread's run holds was removed or replaced; see `Held.check`."""
    this_folder = _HELD.get().get(folder.resolve())
    if this_folder is not None:
        this_folder.check()


@contextmanager
def place_held(path: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Hold the path of one file or folder while the block runs, and remove the leftovers of stopped runs at this path.

    Args:
        path: path of the file or folder.
        wait: seconds to wait for another run that holds it.

    Raises:
        OutputError: another run, named in the message, holds it; or it may not be written to.
    """
    check_place(path)
    with _made(path.parent), _locked(lock_of(path), path, wait=wait):
        sweep_beside(path)
        yield


@contextmanager
def placed(path: Path, *, replace: bool = False, wait: float = 0.0) -> Iterator[Path]:
    """Hold a path and write to it: `place_held` around `whole_or_absent`, for a result outside a run's folder."""
    with place_held(path, wait=wait), whole_or_absent(path, replace=replace) as part:
        yield part


@contextmanager
def _made(folder: Path) -> Iterator[None]:
    """Create a folder and its parents; those that were created here and stayed empty are removed again."""
    created = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        with suppress(OSError):  # a folder that is not empty keeps its parents, too
            for each in created:
                each.rmdir()


@contextmanager
def _locked(lock: Path, path: Path, *, wait: float = 0.0) -> Iterator[None]:
    from filelock import FileLock, Timeout

    # A lock belongs to one thread by default, but a scan may end in another thread than it began.
    file_lock, process = FileLock(lock, timeout=wait, thread_local=False), os.getpid()
    try:
        file_lock.acquire()
    except Timeout:
        raise OutputError(_held_by(lock, path)) from None
    try:
        lock.write_text(_holder(), encoding="utf-8", errors="replace")
        yield
    finally:
        if process == os.getpid():  # a forked process also leaves this block, but the lock belongs to its parent
            # Removed before the release: a process that waits for the removed file sees that it is gone, and opens a
            # new one.
            with suppress(OSError):
                lock.unlink()
            file_lock.release()


def _holder() -> str:
    """Return the description of this run that its lock file holds, for the message to another run."""
    user = ""
    with suppress(KeyError, OSError):  # no such user, as in a container
        user = f" of {getpass.getuser()}"
    command = " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])[:200] if sys.argv else ""
    since = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    return f"process {os.getpid()}{user} on {socket.gethostname()} ({command}; since {since})"


def _held_by(lock: Path, path: Path) -> str:
    """Return the message that names the run that holds a path, with the text of the lock file."""
    holder = ""
    with suppress(OSError, UnreadableFileError):
        holder = shown(read_regular(lock, most=_MOST_BYTES).decode(errors="replace"), limit=500)
    return f"{path} is being written by {holder or 'another run'}; wait until it ends, or give another --out"


@contextmanager
def scratch(folder: Path, name: str = "run") -> Iterator[Path]:
    """Yield a path in a folder to write to; its content is removed when the block ends.

    Args:
        folder: created if it does not exist; leftovers of killed runs in it are removed first.
        name: part of the path's name.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sweep_scratch(folder)
    scratch_folder, process = beside(folder / name, SCRATCH), os.getpid()
    with place_held(scratch_folder):
        try:
            yield scratch_folder
        finally:
            if process == os.getpid():  # a forked process also leaves this block, but the folder belongs to its parent
                shutil.rmtree(scratch_folder, ignore_errors=True)


def sweep_scratch(folder: Path) -> None:
    """Remove leftovers of killed runs from a folder, except those that a live run holds."""
    left = set(folder.glob(f".*.{SCRATCH}"))
    # Sometimes only the lock is left, because its content was moved into place.
    left |= {unlocked(lock) for lock in folder.glob(f".*.{SCRATCH}.{LOCK}")}
    for path in left:
        # In a folder that all users share, other users' leftovers stay, too.
        with suppress(OutputError, OSError), place_held(path):
            remove(path)


class TemporaryFolder:
    """A new folder in the system's temporary folder, which only this user can read.

    It is removed when this object is garbage-collected or the process exits. The folder of a killed process stays until
    the next one is made.

    Attributes:
        path: path of the folder.
    """

    def __init__(self) -> None:
        stack = ExitStack()
        self.path = stack.enter_context(scratch(Path(tempfile.gettempdir()), "headscope-run"))
        self.path.mkdir(mode=0o700)
        finalize(self, stack.close)
        _IN_USE[self.path.resolve()] = self


_IN_USE: WeakValueDictionary[Path, TemporaryFolder] = WeakValueDictionary()


def temporary_folder_at(path: Path) -> TemporaryFolder | None:
    """Return the temporary folder of this process at a path; the folder exists as long as the object is referenced."""
    return _IN_USE.get(path.resolve())
