"""A process of its own for each try, forked from one that has loaded everything, and killed as an operator would."""

import os
import random
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path

RENAMES = ("rename", "replace")


def run(work: Callable[[], object], *, before: Callable[[], None] | None = None, seconds: float | None = None) -> bool:
    """Run work in a forked process; return whether it came to its end, and was not killed.

    Args:
        work: what to do.
        before: called in the process first, as to set a trap.
        seconds: after which the process is killed.

    Raises:
        RuntimeError: it ended with an error of its own.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            if before is not None:
                before()
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    timer = None if seconds is None else threading.Timer(seconds, os.kill, (child, signal.SIGKILL))
    if timer is not None:
        timer.start()
    _, status = os.waitpid(child, 0)
    if timer is not None:
        timer.cancel()
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    if status != 0:
        raise RuntimeError(f"the work ended by itself with status {status}")
    return True


def kill_at_rename(number: int, *, after: bool) -> Callable[[], None]:
    """Return what makes a process kill itself at its n-th rename: just before it, or just after."""

    def trap() -> None:
        count = [0]
        for name in RENAMES:
            own = getattr(os, name)

            def renaming(*given: object, own: Callable[..., None] = own) -> None:
                count[0] += 1
                if after:
                    own(*given)
                if count[0] == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                if not after:
                    own(*given)

            setattr(os, name, renaming)

    return trap


def renames_of(work: Callable[[], object], log: Path) -> int:
    """Run work to its end, and return how many renames it made."""

    def count() -> None:
        for name in RENAMES:
            own = getattr(os, name)

            def renaming(*given: object, own: Callable[..., None] = own) -> None:
                own(*given)
                with log.open("ab") as file:
                    file.write(b".")

            setattr(os, name, renaming)

    log.write_bytes(b"")
    run(work, before=count)
    return log.stat().st_size


def random_times(seed: int, whole: float) -> Callable[[], float]:
    """Return what draws the moments of kills: within the time that the whole work takes."""
    generator = random.Random(seed)
    return lambda: generator.uniform(0.0, whole)


def timed(work: Callable[[], object]) -> float:
    """Run work to its end, and return how many seconds it took."""
    began = time.monotonic()
    run(work)
    return time.monotonic() - began
