"""What takes long to make: made by whoever first needs it, and files once for all processes of a run of the tests."""

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import pytest

_Value = TypeVar("_Value")


class MadeWhenRead(Mapping[str, _Value]):
    """Things by name, each made when a test first reads it: a sample of the tests may read few of them.

    Args:
        names: of all things.
        make: is given a name.
    """

    def __init__(self, names: Iterable[str], make: Callable[[str], _Value]) -> None:
        self._names, self._make, self._made = tuple(names), make, dict[str, _Value]()

    def __getitem__(self, name: str) -> _Value:
        if name not in self._made:
            self._made[name] = self._make(name)
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


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
