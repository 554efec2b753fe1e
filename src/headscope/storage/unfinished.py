"""What headscope writes beside a place before it is whole, known by name, and swept away when its writer is gone."""

import os
import re
import shutil
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from secrets import token_hex

PART, ASIDE, SCRATCH, LOCK = "headscope-part", "headscope-aside", "headscope-scratch", "headscope-lock"
_OWN = re.compile(rf"\..*\.(?:[0-9a-f]{{16}}\.(?:{PART}|{ASIDE}|{SCRATCH})|{LOCK})", re.DOTALL)
_LONGEST = 120  # bytes of a name that is kept: a file system takes 255


def part_of(path: Path) -> Path:
    """Return a path beside `path` that nobody else takes: not another thread, process or machine."""
    return beside(path, PART)


def aside_of(path: Path) -> Path:
    """Return a path beside `path` at which what stands there waits until its successor is whole."""
    return beside(path, ASIDE)


def lock_of(path: Path) -> Path:
    """Return the file beside `path` by which a run holds that place."""
    return path.with_name(f".{_short(path.name)}.{LOCK}")


def unlocked(lock: Path) -> Path:
    """Return the path whose lock lies at `lock`: the other way round than `lock_of`, for names of ours."""
    return lock.with_name(lock.name[1 : -len(f".{LOCK}")])


def beside(path: Path, mark: str) -> Path:
    """Return a path beside `path` with a mark of ours and a name that is drawn anew each time."""
    return path.with_name(f".{_short(path.name)}.{token_hex(8)}.{mark}")


def is_own(path: Path) -> bool:
    """Whether a file or folder is one that a stopped run left, and no one's result."""
    return _OWN.fullmatch(path.name) is not None


def contents(folder: Path) -> Iterator[Path]:
    """Yield what lies in a folder, without what stopped runs left there."""
    return (path for path in folder.iterdir() if not is_own(path))


def sweep(*folders: Path) -> None:
    """Remove what stopped runs left in these folders, which the caller holds; sub-folders are not looked into."""
    for folder in folders:
        if folder.is_dir() and not folder.is_symlink():
            for path in [path for path in folder.iterdir() if is_own(path)]:
                if path.suffix != f".{LOCK}":  # the caller's own is one
                    remove(path)


def sweep_beside(path: Path) -> None:
    """Remove what stopped runs left of one place, which the caller holds.

    Where a run was killed between setting the old folder aside and putting the new one in its place, the old one
    comes back.
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
    """Remove a file or a folder with all that is in it; a link goes, not what it points to."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _left_of(path: Path, mark: str) -> list[Path]:
    pattern = re.compile(rf"\.{re.escape(_short(path.name))}\.[0-9a-f]{{16}}\.{mark}", re.DOTALL)
    return [path.with_name(name) for name in sorted(os.listdir(path.parent)) if pattern.fullmatch(name)]


def _short(name: str) -> str:
    """Return a name, or for a long one its hash: the marks need room, and two names must not become one."""
    long = os.fsencode(name)
    return name if len(long) <= _LONGEST else blake2b(long, digest_size=16).hexdigest()
