"""What may stand where a file should: devices, FIFOs, sockets, links to them; and a guard against waiting for one."""

import os
import resource
import signal
import socket
from contextlib import contextmanager
from pathlib import Path


def _socket(path: Path) -> None:
    # A socket's own path may have 107 bytes: it is made beside, by a relative name.
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(before)


def _link_to_fifo(path: Path) -> None:
    other = path.with_name(f"{path.name}-fifo")
    os.mkfifo(other)
    path.symlink_to(other)


# What messages call each, and what makes it.
KINDS = {
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a FIFO": os.mkfifo,
    "a socket": _socket,
    "a FIFO (by a link)": _link_to_fifo,
}


def put_in_place(path: Path, kind: str) -> str:
    """Put something in the place of a file; return what messages call it."""
    path.unlink(missing_ok=True)
    KINDS[kind](path)
    return kind.removesuffix(" (by a link)")


@contextmanager
def guarded(*, seconds: int = 60, gigabytes: int = 4):
    """Raise where the block waits for ever, or takes memory without end; neither is measured."""

    def give_up(*_):
        raise TimeoutError(f"nothing came of it within {seconds} seconds")

    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGALRM, give_up)
    resource.setrlimit(resource.RLIMIT_AS, (taken + (gigabytes << 30), hard))
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
