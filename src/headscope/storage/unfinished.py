"""Unfinished files next to an output path: known by their names, and removed when their writer is gone."""

import os
import re
import shutil
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex

PART, ASIDE, SCRATCH, LOCK = "headscope-part", "headscope-aside", "headscope-scratch", "headscope-lock"
_OWN = re.compile(rf"\..*\.(?:[0-9a-f]{{16}}\.(?:{PART}|{ASIDE}|{SCRATCH})|{LOCK})", re.DOTALL)
_LONGEST = 120  # maximum bytes of a name that is kept: a file system allows 255


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
