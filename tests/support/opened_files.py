"""A watch on the files that any process opens below a folder and the folders that it lists, by inotify."""

import ctypes
import os
import struct
from pathlib import Path

_OPENED, _CREATED, _MOVED_HERE = 0x20, 0x100, 0x80
_IS_FOLDER, _NO_WAIT = 0x4000_0000, 0o4000
_HEADER = struct.Struct("iIII")


class OpenedFiles:
    """Watch a folder and its subfolders, also new ones; this works on Linux only.

    Unlike Python's audit hooks, it sees files that native libraries and other processes open.

    Args:
        folder: the folder to watch.
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
        if number >= 0:  # a negative number means that the folder is gone already
            self._watched[number] = path

    def so_far(self) -> set[str]:
        """Return the paths, relative to the folder, that were opened or listed since the last call; `.` is the folder
        itself.
        """
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
                assert number in self._watched, "the kernel's event queue overflowed"
                path = self._watched[number] / os.fsdecode(name)
                if kind & _OPENED:
                    found.add(str(path.relative_to(self.folder)))
                elif kind & _IS_FOLDER:
                    self._watch(path)
