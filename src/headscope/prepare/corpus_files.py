"""The files of a corpus, found when they are read for the first time and opened anew at each reading."""

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from headscope.corpora.opening import read_once, source_name
from headscope.errors import InputError

Item = TypeVar("Item")


class CorpusFiles(Generic[Item]):
    """What files contain, read anew at each call.

    What comes from standard input or a pipe, which can be read only once, is kept in memory.

    Args:
        paths: as the user gave them.
        read: yields what files contain.
        locate: finds the files of the paths, and fetches those that are named; the paths are files when not given.
    """

    def __init__(
        self,
        paths: tuple[str, ...],
        read: Callable[[tuple[str, ...]], Iterator[Item]],
        *,
        locate: Callable[[tuple[str, ...]], tuple[str, ...]] = tuple,
    ) -> None:
        self._paths, self._read, self._locate = paths, read, locate
        self._kept: list[Item] = []

    def __call__(self) -> Iterator[Item]:
        """Return what the files contain.

        Raises:
            InputError: standard input or a pipe has nothing in it.
        """
        if not read_once(self._paths):
            return self._read(self._located)
        if not self._kept:
            self._kept = list(self._read(self._located))
            if not self._kept:
                raise InputError(f"{named(self._paths)} holds no document; give a treebank, or a file")
        return iter(self._kept)

    @cached_property
    def _located(self) -> tuple[str, ...]:
        return self._locate(self._paths)


def named(paths: tuple[str, ...]) -> str:
    """Return the names of files without folders, shown to the user."""
    names = [source_name(path if path == "-" else Path(path).name) for path in paths]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
