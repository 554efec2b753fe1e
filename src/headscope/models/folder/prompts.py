"""Prevent libraries from asking questions while they load a model: text piped in would be taken as the answer."""

import io
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_LOCK = threading.Lock()
_LOADING: Counter[int] = Counter()


class _Input:
    """Standard input unchanged, but empty for the threads that load a model."""

    def __init__(self, real: Any) -> None:
        self.real = real
        self.empty = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.empty if _LOADING[threading.get_ident()] else self.real, name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.empty if _LOADING[threading.get_ident()] else self.real)


@contextmanager
def nothing_asks() -> Iterator[None]:
    """Make standard input empty for this thread: a question gets no answer, and fails.

    Other threads read as before; the last thread to leave restores the real input, also after an error.
    """
    thread = threading.get_ident()
    with _LOCK:
        if not isinstance(sys.stdin, _Input) and sys.stdin is not None:
            sys.stdin = _Input(sys.stdin)
        _LOADING[thread] += 1
    try:
        yield
    finally:
        with _LOCK:
            _LOADING[thread] -= 1
            if not _LOADING[thread]:
                del _LOADING[thread]
            # If other code replaced it meanwhile, that replacement stays.
            if not _LOADING and isinstance(sys.stdin, _Input):
                sys.stdin = sys.stdin.real
