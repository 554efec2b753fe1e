"""What may come of an input: a result, or an error in words that can be printed. All else is a finding.

A finding is also: more than 10 s of the processor or 60 s on the clock, more than 1 GB (`limit_memory`), a message that
is not printable or longer than 4,000 characters, a word on standard output, a look at standard input, code that ran.
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

PROCESSOR, CLOCK = 10.0, 60.0  # seconds; a shared machine may keep an input waiting for its turn
MEMORY = 1 << 30
LONGEST_MESSAGE = 4000
_PACKAGE = Path(headscope.__file__).parent


class TooSlow(BaseException):
    """No `except Exception` of what is tried stops it."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What came of an input.

    Attributes:
        kind: `taken`, `refused` or `finding`.
        place: what tells it from others of its kind: where in headscope the error was raised.
        why: of a finding: its traceback or the message that is wrong.
    """

    kind: Literal["taken", "refused", "finding"]
    place: str = ""
    why: str = ""


class _NoInput(io.TextIOBase):
    """A standard input that remembers whether somebody looked at it."""

    asked = False

    def read(self, size: int | None = -1) -> str:
        self.asked = True
        return "y\n"

    def readline(self, size: int | None = -1) -> str:  # type: ignore[override]
        return self.read()


def limit_memory() -> None:
    """Let this process take 1 GB more than it has; what asks for more gets a MemoryError, or ends."""
    status = Path("/proc/self/status")
    if not status.exists():  # macOS has no such limit that holds
        return
    held = next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmData"))
    resource.setrlimit(resource.RLIMIT_DATA, (held * 1024 + MEMORY, resource.RLIM_INFINITY))


def judge(check: Callable[[Path], None], folder: Path) -> Verdict:
    """Give what lies in a folder to headscope and say what came of it."""
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
    except BaseException as error:  # whatever it is, nobody can do anything with it
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
    else:  # a result that is wrong, by what the target says of it
        where = str(error)[:60]
    lines = "".join(traceback.format_exception(error))
    return Verdict(kind="finding", place=f"{what} {where}", why=f"{what}\n{lines[-6000:]}")


def _of_headscope(trace: TracebackType | None) -> list[traceback.FrameSummary]:
    return [frame for frame in traceback.extract_tb(trace) if Path(frame.filename).is_relative_to(_PACKAGE)]


def _way(trace: TracebackType | None) -> str:
    """Name the lines of headscope that led to an error: another way is news."""
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
