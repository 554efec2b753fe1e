"""Which files below a folder are opened and which folders are listed, by whom ever: the kernel says so (inotify)."""

import ctypes
import os
import struct
from pathlib import Path

_OPENED, _CREATED, _MOVED_HERE = 0x20, 0x100, 0x80
_IS_FOLDER, _NO_WAIT = 0x4000_0000, 0o4000
_HEADER = struct.Struct("iIII")


class OpenedFiles:
    """Watches a folder and those below it, also those that are made meanwhile; Linux alone can.

    What native libraries and other processes open is seen, too, which Python's audit hooks do not see.

    Args:
        folder: below which is watched.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._queue = self._libc.inotify_init1(_NO_WAIT)
        assert self._queue >= 0, os.strerror(ctypes.get_errno())
        self._watched: dict[int, Path] = {}
        for path in [folder, *(path for path in folder.rglob("*") if path.is_dir() and not path.is_symlink())]:
            self._watch(path)

    def __enter__(self) -> "OpenedFiles":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._queue)

    def _watch(self, path: Path) -> None:
        number = self._libc.inotify_add_watch(self._queue, os.fsencode(path), _OPENED | _CREATED | _MOVED_HERE)
        if number >= 0:  # else it is gone already
            self._watched[number] = path

    def so_far(self) -> set[str]:
        """Return the paths that were opened or listed since the last call, from the folder, which is `.` itself."""
        found = set()
        while True:
            try:
                events = os.read(self._queue, 1 << 20)
            except BlockingIOError:
                return found
            at = 0
            while at < len(events):
                number, kind, _, length = _HEADER.unpack_from(events, at)
                name = events[at + _HEADER.size : at + _HEADER.size + length].rstrip(b"\0")
                at += _HEADER.size + length
                assert number in self._watched, "more happened than the kernel keeps"
                path = self._watched[number] / os.fsdecode(name)
                if kind & _OPENED:
                    found.add(str(path.relative_to(self.folder)))
                elif kind & _IS_FOLDER:
                    self._watch(path)
