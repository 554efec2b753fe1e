"""Functions that run work in a separate process, and kill it as an operator would.

The processes are forked from a server that has loaded everything but computed nothing: a fork of the test's own
process would inherit the locks of its threads, and crash or wait forever.
"""

import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import cloudpickle

RENAMES = ("rename", "replace")
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["headscope.running.writing", "headscope.analyses", "transformers", "cloudpickle"])


def run(work: Callable[[], object], *, before: Callable[[], None] | None = None, seconds: float | None = None) -> bool:
    """Run work in another process; return True if it finished, False if it was killed.

    Args:
        work: function to run; it is pickled with the values that it uses.
        before: called first in the process, for example to set a trap.
        seconds: time after which the process is killed.

    Raises:
        RuntimeError: the work raised an error.
    """
    module = sys.modules[work.__module__]
    cloudpickle.register_pickle_by_value(module)
    try:
        child = SERVER.Process(target=_call, args=(cloudpickle.dumps((before, work)),))
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    child.start()
    child.join(seconds)
    if child.is_alive():
        child.kill()
        child.join()
    if child.exitcode == -signal.SIGKILL:
        return False
    if child.exitcode != 0:
        raise RuntimeError(f"the work ended by itself with status {child.exitcode}")
    return True


def _call(pickled: bytes) -> None:
    before, work = cloudpickle.loads(pickled)
    if before is not None:
        before()
    work()


def kill_at_rename(number: int, *, after: bool) -> Callable[[], None]:
    """Return a function that makes a process kill itself at its n-th rename, just before or just after it."""

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
    """Run work to its end, and return its number of renames."""

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
    """Return a function that draws the moments of kills, within the duration of the whole work."""
    generator = random.Random(seed)
    return lambda: generator.uniform(0.0, whole)


def timed(work: Callable[[], object]) -> float:
    """Run work to its end, and return its duration in seconds."""
    began = time.monotonic()
    run(work)
    return time.monotonic() - began
