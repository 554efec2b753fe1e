"""Prevent downloads while a folder is loaded: hub names in its files were not chosen by the user."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any

_LOADING: ContextVar[bool] = ContextVar("loading", default=False)
_LOCK = Lock()
_inside = 0
_offline: Any = None


@contextmanager
def nothing_fetched() -> Iterator[None]:
    """Make the hub unreachable for this thread, as in offline mode; other threads fetch as before."""
    global _inside, _offline
    from huggingface_hub import constants

    with _LOCK:
        if not _inside:
            _offline, constants.is_offline_mode = constants.is_offline_mode, _offline_here
        _inside += 1
    loading = _LOADING.set(True)
    try:
        yield
    finally:
        _LOADING.reset(loading)
        with _LOCK:
            _inside -= 1
            if not _inside:
                constants.is_offline_mode = _offline


def _offline_here() -> bool:
    return _LOADING.get() or _offline()
