"""Start and end of the program: signals and streams are guarded before heavy imports, and the exit prints nothing."""

import atexit
import gc
import os
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType

from headscope.app.stopping import leave, take_signals
from headscope.errors import ExtensionError

COLLECTION = (100_000, 20, 20)
"""Thresholds of garbage collection; Python's own, 700 new objects, takes a tenth of a report's time."""


def main() -> None:
    """Run the command line as a separate program; always ends in `SystemExit`.

    To call the command line from Python use `headscope.app.cli.program.main`, which leaves the process unchanged.
    """
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:  # closed; the first file that a run opens would get its number
            setattr(sys, name, open(os.devnull, "r+", encoding="utf-8"))  # noqa: SIM115
    _hide_settings_files()
    take_signals(lambda number, frame: leave(number))
    sys.excepthook = _say_traceback
    threading.excepthook = lambda problem: _say_traceback(problem.exc_type, problem.exc_value, problem.exc_traceback)
    warnings.formatwarning = _warning_line
    gc.set_threshold(*COLLECTION)
    try:
        _command_line()()
    except SystemExit as end:
        if isinstance(end.code, int) and threading.active_count() == 1:
            _end_at_once(end.code)
        raise
    finally:
        _drop_what_cannot_be_written()


def _end_at_once(code: int) -> None:
    """End the process without freeing the modules of torch and transformers one by one, which takes a second."""
    _drop_what_cannot_be_written()
    atexit._run_exitfuncs()
    os._exit(code)


def _command_line() -> Callable[[], None]:
    """Import the command line, with the commands that other packages add."""
    try:
        from headscope.app.cli.program import main as run
    except ExtensionError as error:
        from headscope.visible import printable

        sys.stderr.write(printable(f"headscope: {error}") + "\n")
        raise SystemExit(2) from None
    return run


def _drop_what_cannot_be_written() -> None:
    """Flush the streams, and redirect those that fail to the null device, or Python's flush at exit would complain."""
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        try:
            stream.flush()
        except (OSError, ValueError):
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _say_traceback(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
    """Print an internal error, with any foreign text in it made safe for the terminal."""
    import traceback

    from headscope.visible import printable

    text = "".join(traceback.format_exception(kind, error, trace))
    with suppress(OSError, ValueError):
        sys.stderr.write(printable(text, lines=True))
        sys.stderr.flush()


def _warning_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    from headscope.visible import printable

    return printable(f"{category.__name__}: {message}") + "\n"


def _hide_settings_files() -> None:
    """Let matplotlib start without settings files; the one in the current folder comes before any that can be set."""
    exists = os.path.exists
    os.path.exists = lambda path: path != "matplotlibrc" and exists(path)
    os.environ["MATPLOTLIBRC"] = os.devnull
