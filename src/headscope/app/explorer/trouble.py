"""Errors in the explorer's terminal: one printable line each, at most one per second."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headscope.visible import shorten, visible

LONGEST = 300
_log = logging.getLogger("headscope.explorer")


class OneASecond(logging.Filter):
    """Lets one record through per time span; the next one reports how many were dropped.

    Args:
        seconds: time between two records.
        clock: function that returns monotonic seconds.
    """

    def __init__(self, seconds: float = 1.0, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.seconds = seconds
        self.clock = clock
        self._next = float("-inf")
        self._left_out = 0
        self._lock = threading.Lock()

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True if a record passes; add to it the number of dropped records."""
        with self._lock:
            now = self.clock()
            if now < self._next:
                self._left_out += 1
                return False
            left_out, self._left_out = self._left_out, 0
            self._next = now + self.seconds
        if left_out:
            record.msg = f"{record.getMessage()}; {left_out:,} more since the last one"
            record.args = ()
        return True


def log_internal_error(error: BaseException) -> None:
    """Log an error of the explorer itself."""
    _log.error("headscope: the explorer met an error of its own: %s", _LazyDescription(error))


def say_loops(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log asyncio's errors without tracebacks, as without free file descriptors there are thousands at once."""
    what, error = context["message"], context.get("exception")
    if error is None:
        _log.error("headscope: the explorer's server: %s", what)
    else:
        _log.error("headscope: the explorer's server: %s: %s", what, _LazyDescription(error))


def describe_error(error: BaseException) -> str:
    """Return an error's class, message and place in one printable line."""
    frames = traceback.extract_tb(error.__traceback__)
    location = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    text = str(error)[: 2 * LONGEST]
    said = f": {shorten(visible(text), LONGEST)}" if text else ""
    return f"{type(error).__name__}{said}{location}"


@dataclass(frozen=True)
class _LazyDescription:
    """A description of an error that is computed only when the log line is written."""

    error: BaseException

    def __str__(self) -> str:
        return describe_error(self.error)


_log.addFilter(OneASecond())
