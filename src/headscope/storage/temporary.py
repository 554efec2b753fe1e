"""Temporary folders of runs: each is removed with its last reference in this process, or when the process exits."""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from weakref import WeakValueDictionary, finalize

from headscope.storage.scratch import scratch


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
