"""Files that take long to make: made once for all processes of a run of the tests, by the one that first needs them."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Return a folder with what a function makes in it; tests only read it.

    Args:
        factory: of temporary folders.
        name: of the folder, one in the whole run.
        make: is given the folder, empty or with what a process left that was stopped.
    """
    base = factory.getbasetemp()
    # Each of pytest-xdist's processes has a folder of its own in that of the run.
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, whole = shared / name, shared / f"{name}.whole"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            whole.touch()
    return folder
