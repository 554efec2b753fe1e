"""Files of a corpus, located at the first reading and opened anew at each reading."""

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from headscope.corpora.opening import read_once, source_name
from headscope.errors import InputError

Item = TypeVar("Item")


class CorpusFiles(Generic[Item]):
    """Contents of files, read anew at each call.

    Contents of standard input or a pipe, which can be read only once, are kept in memory.

    Args:
        paths: paths as the user gave them.
        read: function that yields the contents of files.
        locate: function that finds the files of the paths and fetches corpora given by name; by default the paths are
            files.
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
        """Return the contents of the files.

        Raises:
            InputError: standard input or a pipe is empty.
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
    """Return the file names without folders, shown to the user."""
    names = [source_name(path if path == "-" else Path(path).name) for path in paths]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
