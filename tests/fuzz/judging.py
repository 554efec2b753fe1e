"""The allowed outcomes of an input: a result, or a printable error message. All others are findings.

Further findings: more than 10 s of the processor or 60 s on the clock, more than 1 GB (`limit_memory`), a message
that is not printable or longer than 4,000 characters, standard output, a read of standard input, or code that ran.
"""

import contextlib
import io
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Literal

import headscope
from fuzz import canary
from headscope.errors import HeadscopeError
from support.hostile import printable

PROCESSOR, CLOCK = 10.0, 60.0  # seconds; on a shared machine an input may wait for the processor
MEMORY = 1 << 30
LONGEST_MESSAGE = 4000
_PACKAGE = Path(headscope.__file__).parent


class TooSlow(BaseException):
    """A time limit; as a BaseException it passes every `except Exception` of the tested code."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The outcome of an input.

    Attributes:
        kind: `taken`, `refused` or `finding`.
        place: text that distinguishes it from others of its kind: the place in headscope that raised the error.
        why: for a finding, its traceback or the wrong message.
    """

    kind: Literal["taken", "refused", "finding"]
    place: str = ""
    why: str = ""


class _NoInput(io.TextIOBase):
    """A standard input that records if it was read."""

    asked = False

    def read(self, size: int | None = -1) -> str:
        self.asked = True
        return "y\n"

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        return self.read()


def limit_memory() -> None:
    """Let this process allocate 1 GB more than it has; larger requests get a MemoryError, or end the process."""
    status = Path("/proc/self/status")
    if not status.exists():  # macOS does not enforce such a limit
        return
    held = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (held * 1024 + MEMORY, resource.RLIM_INFINITY))


def judge(check: Callable[[Path], None], folder: Path) -> Verdict:
    """Pass a folder to headscope and return the outcome."""
    canary.sung.clear()
    given, told = _NoInput(), io.StringIO()
    verdict = Verdict(kind="taken")
    before = sys.stdin
    sys.stdin = given
    try:
        with contextlib.redirect_stdout(told), _timed():
            check(folder)
    except HeadscopeError as error:
        verdict = _of_refusal(error)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # any other exception is useless to the user
        verdict = _finding(type(error).__name__, error)
    finally:
        sys.stdin = before
    if canary.sung:
        return Verdict(kind="finding", place="code ran", why=f"code ran: {canary.sung[0]}")
    if given.asked:
        return Verdict(kind="finding", place="standard input", why="standard input was read")
    if told.getvalue():
        return Verdict(kind="finding", place="printed", why=f"printed {told.getvalue()[:200]!r}")
    return verdict


def _of_refusal(error: HeadscopeError) -> Verdict:
    said = str(error)
    if not said.strip():
        return _finding("no message", error)
    if not printable(said):
        return _finding("not printable", error)
    if len(said) > LONGEST_MESSAGE:
        return _finding("endless message", error)
    return Verdict(kind="refused", place=_way(error.__traceback__))


def _finding(what: str, error: BaseException) -> Verdict:
    frames = _of_headscope(error.__traceback__)
    if frames and not isinstance(error, AssertionError):
        where = f"in {Path(frames[-1].filename).name}:{frames[-1].name}"
    else:  # a result that the target's check rejects
        where = str(error)[:60]
    lines = "".join(traceback.format_exception(error))
    return Verdict(kind="finding", place=f"{what} {where}", why=f"{what}\n{lines[-6000:]}")


def _of_headscope(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    return [frame for frame in traceback.extract_tb(trace) if Path(frame.filename).is_relative_to(_PACKAGE)]


def _way(trace: TracebackType | None) -> str:
    """Return the lines of headscope that led to an error; another path is another finding."""
    frames = _of_headscope(trace)
    return " ".join(f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-4:])


@contextlib.contextmanager
def _timed() -> Iterator[None]:
    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlow(f"{PROCESSOR:g} s" if number == signal.SIGPROF else f"{CLOCK:g} s without an end")

    kept = {number: signal.signal(number, stop) for number in (signal.SIGPROF, signal.SIGALRM)}
    signal.setitimer(signal.ITIMER_PROF, PROCESSOR)
    signal.setitimer(signal.ITIMER_REAL, CLOCK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in kept.items():
            signal.signal(number, handler)
