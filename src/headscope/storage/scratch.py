"""Temporary disk space: removed after its run or with its last reference, or by the next run."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary, finalize

from headscope.errors import OutputError
from headscope.storage.lock import place_held
from headscope.storage.unfinished import LOCK, SCRATCH, beside, remove, unlocked


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
