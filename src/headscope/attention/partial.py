"""Files and folders that are whole or absent: written beside their place, renamed into it when they are done."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headscope.errors import OutputError


@contextmanager
def whole_or_absent(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Give a path beside `path` to write a file or folder at; rename it into place if the block succeeds.

    An error or Ctrl-C in the block removes what was written. A killed process leaves `NAME.partial`, which
    nothing reads and the next run for the same `path` removes.

    Args:
        path: where the file or folder shall be.
        replace: whether what stands at `path` gives way, once the new one is whole.

    Raises:
        OutputError: something stands at `path` and may not be replaced.
    """
    if not replace and not is_free(path):
        raise OutputError(already_there(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.partial")
    _remove(partial)
    try:
        yield partial
        if path.is_dir() or (path.exists() and partial.is_dir()):
            # A folder cannot be renamed over: the old one steps aside first.
            old = path.with_name(f"{path.name}.old.partial")
            _remove(old)
            path.rename(old)
            partial.rename(path)
            _remove(old)
        else:
            partial.replace(path)
    finally:
        _remove(partial)


def is_free(path: Path) -> bool:
    """Whether nothing stands at a path, or an empty folder."""
    return not path.exists() or (path.is_dir() and not any(path.iterdir()))


def already_there(path: Path) -> str:
    """Say that something else stands where results were to go."""
    return f"{path} is there already and holds something else; give another --out, or --force to replace it"


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
