"""Room on disk for what is not kept: gone with its run, and with the next one where the run was killed."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headscope.errors import OutputError
from headscope.storage.lock import place_held
from headscope.storage.unfinished import LOCK, SCRATCH, beside, remove, unlocked


@contextmanager
def scratch(folder: Path, name: str = "run") -> Iterator[Path]:
    """Give a path in a folder to write at; what lies there when the block ends is removed.

    Args:
        folder: made where there is none; what killed runs left in it is removed first.
        name: goes into the path's own.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sweep_scratch(folder)
    scratch_folder, process = beside(folder / name, SCRATCH), os.getpid()
    with place_held(scratch_folder):
        try:
            yield scratch_folder
        finally:
            if process == os.getpid():  # a forked process ends with a copy of this block; the folder stays its parent's
                shutil.rmtree(scratch_folder, ignore_errors=True)


def sweep_scratch(folder: Path) -> None:
    """Remove what killed runs left in a folder; what a living run holds stays."""
    left = set(folder.glob(f".*.{SCRATCH}"))
    # Of some only the lock is left: what it held had been put in its place.
    left |= {unlocked(lock) for lock in folder.glob(f".*.{SCRATCH}.{LOCK}")}
    for path in left:
        # Another's, in a folder that all users share, stays too.
        with suppress(OutputError, OSError), place_held(path):
            remove(path)
