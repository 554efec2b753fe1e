"""JSON files that anyone may have written, read within bounds; what is said of one that is refused is the reader's."""

import json
from pathlib import Path
from typing import Any


class TooLargeError(Exception):
    """The file has more bytes than may be read; `size` says how many."""

    def __init__(self, size: int) -> None:
        super().__init__(size)
        self.size = size


class TooDeepError(Exception):
    """Lists and objects lie in one another deeper than can be read."""


def read_bounded(path: Path, *, most: int) -> Any:
    """Read a JSON file.

    Args:
        path: of the file.
        most: bytes that it may have.

    Raises:
        TooLargeError: it has more bytes.
        TooDeepError: it is nested too deeply.
        ValueError: it is not JSON in UTF-8, or a number in it has thousands of digits.
        OSError: it is not there, or cannot be read.
    """
    size = path.stat().st_size
    if size > most:
        raise TooLargeError(size)
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except RecursionError as error:
        raise TooDeepError from error
