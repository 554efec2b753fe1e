"""Paths of outputs: checks before anything is computed, and unfinished files, removed when their writer is gone."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex
from typing import Any

from headscope.errors import OutputError
from headscope.storage.bounded import kind_of

MARK = "headscope.json"
"""The file that marks a model folder as written by headscope."""
# Marks of a pruned model, a run, and saved maps. Each has headscope's name in its first bytes.
_MARKS = (MARK, "manifest.json", "index.json")
_FIRST_BYTES = 256
PART, ASIDE, SCRATCH, LOCK = "headscope-part", "headscope-aside", "headscope-scratch", "headscope-lock"
_OWN = re.compile(rf"\..*\.(?:[0-9a-f]{{16}}\.(?:{PART}|{ASIDE}|{SCRATCH})|{LOCK})", re.DOTALL)
_LONGEST = 120  # maximum bytes of a name that is kept: a file system allows 255


def check_place(path: Path, *, reads: Iterable[Any] = (), replace: bool = False) -> None:
    """Refuse an output path whose writing would destroy an input, the current folder or a device.

    Args:
        path: path of the file or folder to write.
        replace: whether to refuse a folder that headscope did not write, too.
        reads: paths of the files and folders that the command reads, such as the model and the text. Hub names, texts
            in memory and None are skipped.

    Raises:
        OutputError: the path is neither new nor a regular file nor a folder; or it is, or contains, the current folder
            or something that is read.
    """
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return  # no file has such a name; the writer reports it
    kind = _kind(path)
    if kind not in (None, "a folder"):
        raise OutputError(f"{path} is {kind}; expected a new path, a file or a folder: give another --out")
    target = Path(os.path.realpath(path))
    current = Path(os.path.realpath("."))
    if kind == "a folder" and target in (current, *current.parents):
        what = "is the current folder" if target == current else "contains the current folder"
        raise OutputError(f"{path} {what}; expected a folder of its own: give another --out")
    for source in filter(None, map(_existing, reads if path.exists() else ())):
        if target in (source, *source.parents):
            what = "is read by the same command" if target == source else f"contains {source}, which the command reads"
            raise OutputError(f"{path} {what}; give another --out")
    if replace:
        check_replaced(path)


def check_replaced(path: Path) -> None:
    """Refuse to replace a folder that headscope did not write.

    Raises:
        OutputError: the folder is not empty and has no mark: `headscope.json`, or the manifest of a run or of maps.
    """
    if not is_replaceable(path):
        raise OutputError(
            f"{path} holds something that headscope did not write, so --force does not replace it; give another --out, "
            "or remove that folder yourself"
        )


def is_replaceable(path: Path) -> bool:
    """Return True for a file, an empty folder, and a folder that headscope wrote."""
    return not path.is_dir() or not any(path.iterdir()) or any(_names_headscope(path / mark) for mark in _MARKS)


def mark_content(**facts: Any) -> Mapping[str, Any]:
    """Return the content of the mark: headscope's version first, then facts about the output."""
    from headscope.installing import __version__

    return {"headscope": __version__, **facts}


def check_contents(folder: Path) -> None:
    """Refuse to write into a folder that contains a link to another folder, or a device, FIFO or socket.

    Someone else may have made the folder, and files would be written to the target of the link.

    Raises:
        OutputError: there is such an entry; gives its path.
    """
    for parent, folders, files in os.walk(folder):
        for path in [Path(parent, name) for name in (*folders, *files)]:
            kind = "a link to another folder" if path.is_symlink() and path.is_dir() else _kind(path)
            if kind not in (None, "a folder"):
                raise OutputError(
                    f"{path} is {kind}; expected a folder of results with regular files alone: remove it, or give "
                    "another --out"
                )


def _kind(path: Path) -> str | None:
    """Return the kind of a path, in words; None for a regular file, or if the kind cannot be found."""
    try:
        return kind_of(os.stat(path).st_mode)
    except (OSError, ValueError):
        return None


def exists(name: str) -> bool:
    """Return True if a name is that of an existing file or folder; False if it cannot be a name at all."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # longer than names may be, or with characters that names cannot have
        return False


def _existing(read: Any) -> Path | None:
    """Return the real path of an existing file or folder, or None."""
    if not isinstance(read, str | Path):
        return None
    try:
        return Path(os.path.realpath(read, strict=True))
    except (OSError, ValueError):
        return None


def _names_headscope(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return b"headscope" in file.read(_FIRST_BYTES)
    except OSError:
        return False


def part_of(path: Path) -> Path:
    """Return a path next to `path` that no other thread, process or machine uses."""
    return beside(path, PART)


def aside_of(path: Path) -> Path:
    """Return a path next to `path` where the old file or folder is kept until the new one is complete."""
    return beside(path, ASIDE)


def lock_of(path: Path) -> Path:
    """Return the lock file next to `path`, with which a run holds that path."""
    return path.with_name(f".{_short(path.name)}.{LOCK}")


def unlocked(lock: Path) -> Path:
    """Return the path that a lock file belongs to: the inverse of `lock_of`, for headscope's own names."""
    return lock.with_name(lock.name[1 : -len(f".{LOCK}")])


def beside(path: Path, mark: str) -> Path:
    """Return a path next to `path` with a mark of headscope and a new random name."""
    return path.with_name(f".{_short(path.name)}.{token_hex(8)}.{mark}")


def is_own(path: Path) -> bool:
    """Return True if a file or folder was left by a stopped run, and is not a result."""
    return _OWN.fullmatch(path.name) is not None


def contents(folder: Path) -> Iterator[Path]:
    """Yield the contents of a folder, except those left by stopped runs."""
    return (path for path in folder.iterdir() if not is_own(path))


def sweep(*folders: Path) -> None:
    """Remove the leftovers of stopped runs from these folders, which the caller holds; subfolders are not searched."""
    for folder in folders:
        if folder.is_dir() and not folder.is_symlink():
            for path in [path for path in folder.iterdir() if is_own(path)]:
                if path.suffix != f".{LOCK}":  # one of the locks is the caller's own
                    remove(path)


def sweep_beside(path: Path) -> None:
    """Remove the leftovers of stopped runs at one path, which the caller holds.

    If a run was killed between moving the old folder aside and putting the new one in its place, the old one is
    restored.
    """
    if not path.parent.is_dir():
        return
    for left in _left_of(path, ASIDE):
        if path.exists():
            remove(left)
        else:
            left.rename(path)
    for left in _left_of(path, PART):
        remove(left)


def remove(path: Path) -> None:
    """Remove a file, or a folder with its contents; a link is removed, but not its target."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _left_of(path: Path, mark: str) -> list[Path]:
    pattern = re.compile(rf"\.{re.escape(_short(path.name))}\.[0-9a-f]{{16}}\.{mark}", re.DOTALL)
    return [path.with_name(name) for name in sorted(os.listdir(path.parent)) if pattern.fullmatch(name)]


def _short(name: str) -> str:
    """Return a name, or the hash of a long name: the marks need room, and different names must stay different."""
    long = os.fsencode(name)
    return name if len(long) <= _LONGEST else blake2b(long, digest_size=16).hexdigest()
