"""Changes of a file between two reads."""

import os
from collections.abc import Callable
from pathlib import Path


def _cut(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2]) if path.suffix != ".json" else "")


def _append(path: Path) -> None:
    path.write_text(path.read_text() + path.read_text().replace("Ann", "Eve"))


def _replace(path: Path) -> None:
    other = path.with_name(f"other{path.suffix}")
    other.write_text(path.read_text().replace("dog", "fox"))
    os.replace(other, path)


def _same_length(path: Path) -> None:
    times = path.stat()
    path.write_text(path.read_text().replace("dog", "fox"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def _fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


CHANGES: dict[str, Callable[[Path], None]] = {
    "truncated": _cut,
    "emptied": lambda path: path.write_text(""),
    "appended to": _append,
    "replaced": _replace,
    "overwritten with the time kept": _same_length,
    "deleted": Path.unlink,
    "garbage": lambda path: path.write_bytes(b"\xff\0"),
    "a pipe": _fifo,
    "a folder": _folder,
}
