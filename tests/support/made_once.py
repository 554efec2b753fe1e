"""Slow fixtures: each value is made by its first reader, and each folder once for all processes of a test run."""

import fcntl
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

import pytest

_Value = TypeVar("_Value")


class MadeWhenRead(Mapping[str, _Value]):
    """Map names to values that are made at the first read: a sample of the tests may read few of them.

    Args:
        names: all names.
        make: returns the value of a name.
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
    """Return a folder filled by a function; tests only read it.

    Args:
        factory: factory of temporary folders.
        name: name of the folder, unique in the whole run.
        make: fills the folder, which may hold leftovers of a stopped process.
    """
    base = factory.getbasetemp()
    # Each process of pytest-xdist has its own folder inside the run's folder.
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder, whole = shared / name, shared / f"{name}.whole"
    with (shared / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not whole.exists():
            folder.mkdir(exist_ok=True)
            make(folder)
            whole.touch()
    return folder
