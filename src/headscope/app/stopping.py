"""Ctrl-C, SIGTERM and SIGHUP: one way to stop a command, whatever it is doing."""

import _thread
import os
import signal
import sys
import threading
import time
from types import FrameType, TracebackType
from typing import Any, NoReturn

STOPPED = "stopped; nothing half-written was left, and finished results are kept"
AT_ONCE = "stopped at once, without tidying up; what was finished is kept"
# Windows does not have SIGHUP.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
# A shell signals its whole group, and a supervisor the process again: these are one request, not two.
_SECONDS_PER_REQUEST = 1.0


class Stopped(KeyboardInterrupt):
    """A signal to stop; code that unwinds for Ctrl-C unwinds for it.

    Attributes:
        number: number of the signal.
        code: exit code that a shell expects for it.
    """

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.code = 128 + number


class Stoppable:
    """A context in which a signal to stop raises `Stopped` in the main thread; afterwards, signals act as before.

    A second one, more than a second after the first, ends the process at once, because the cleanup hangs. Ignored
    signals, as under nohup, stay ignored. In another thread nothing is changed, because Python allows it only in the
    main one.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}
        self._hook = sys.unraisablehook
        self._came: int | None = None
        self._at = 0.0

    def __enter__(self) -> "Stoppable":
        if threading.current_thread() is threading.main_thread():
            self._hook, sys.unraisablehook = sys.unraisablehook, self._not_raised
            self._before = take_signals(self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if threading.current_thread() is threading.main_thread():
            sys.unraisablehook = self._hook
            for number, before in self._before.items():
                signal.signal(number, before)
        if error is not None and self._came is not None:
            # A library may have turned it into its own error on the way, for example during an interrupted import.
            raise Stopped(self._came) from None

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._came is not None:
            if time.monotonic() - self._at > _SECONDS_PER_REQUEST:
                leave(number, AT_ONCE)
            return
        if _still_loading(frame):
            leave(number, STOPPED)
        self._came, self._at = number, time.monotonic()
        raise Stopped(number)

    def _not_raised(self, problem: "sys.UnraisableHookArgs") -> None:
        """Raise the signal again after a callback inside Python, which swallows errors."""
        if isinstance(problem.exc_value, Stopped):
            self._came = None
            # From another thread and a moment later: here it would be raised in this callback, and be lost again.
            again = threading.Timer(0.02, _thread.interrupt_main, [problem.exc_value.number])
            again.daemon = True
            again.start()
        else:
            self._hook(problem)


def take_signals(handle: Any) -> dict[int, Any]:
    """Let `handle` handle the signals to stop that are not ignored; return their previous handlers."""
    taken = {}
    for number in SIGNALS:
        before = signal.getsignal(number)
        if before is not None and before != signal.SIG_IGN:  # None: set by code in another language
            taken[number] = signal.signal(number, handle)
    return taken


def leave(number: int, sentence: str = STOPPED) -> NoReturn:
    """End the process now, with a sentence."""
    try:
        # A progress bar hides the cursor.
        shown = "\x1b[?25h" if os.isatty(2) else ""
        os.write(2, f"{shown}headscope: {sentence}\n".encode())
    finally:
        os._exit(128 + number)


def _still_loading(frame: FrameType | None) -> bool:
    """Return True if torch is just being imported: an interrupted import may abort, and nothing needs cleanup yet."""
    spec = getattr(sys.modules.get("torch"), "__spec__", None)
    if spec is not None and not getattr(spec, "_initializing", False):
        return False
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
