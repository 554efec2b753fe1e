"""Special files in the place of regular ones (devices, FIFOs, sockets, links), and a guard against hanging on one."""

import os
import resource
import signal
import socket
from contextlib import contextmanager
from pathlib import Path


def _socket(path: Path) -> None:
    # A socket's path is limited to 107 bytes, so it is created by a relative name.
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


# The name of each in messages, and the function that creates it.
KINDS = {
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "a FIFO": os.mkfifo,
    "a socket": _socket,
    "a FIFO (by a link)": _link_to_fifo,
}


def put_in_place(path: Path, kind: str) -> str:
    """Replace a file by a special one; return its name in messages."""
    path.unlink(missing_ok=True)
    KINDS[kind](path)
    return kind.removesuffix(" (by a link)")


@contextmanager
def guarded(*, seconds: int = 60, gigabytes: int = 4):
    """Raise an error if the block takes longer than `seconds` or more than `gigabytes` of memory."""

    def give_up(*_):
        raise TimeoutError(f"the block did not end within {seconds} seconds")

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
