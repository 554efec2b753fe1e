"""Requests as arbitrary bytes, and a reader of one answer from a connection."""

import re
import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from support.explorer import TOKEN


@dataclass(frozen=True)
class Request:
    """Hold one request that no browser sends.

    Attributes:
        name: name of the test.
        content: returns the bytes for a server's port.
        status: allowed status codes.
    """

    name: str
    content: Callable[[int], bytes]
    status: tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    """Hold an answer; `status` is 0 if none came."""

    status: int
    headers: dict[str, str]
    body: bytes


def ask(port: int, content: bytes, *, seconds: float = 10.0) -> Answer:
    """Send bytes and read one answer, ignoring interim ones."""
    with socket.create_connection(("127.0.0.1", port), timeout=seconds) as wire:
        with suppress(OSError):  # the server may stop reading early
            wire.sendall(content)
        return read_answer(wire, head=content.startswith(b"HEAD "))


def connect(port: int, content: bytes = b"") -> socket.socket:
    """Return a connection on which the bytes were sent."""
    wire = socket.create_connection(("127.0.0.1", port), timeout=5)
    wire.sendall(content)
    return wire


def read_answer(wire: socket.socket, *, head: bool = False) -> Answer:
    """Read one answer from a connection."""
    got = b""
    while True:
        top, found, rest = got.partition(b"\r\n\r\n")
        if found and top.split(b" ", 2)[1:2] == [b"100"]:
            got = rest
            continue
        if found:
            lines = top.decode("latin-1").split("\r\n")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines[1:])}
            length = 0 if head else int(headers.get("content-length", -1))
            if 0 <= length <= len(rest):
                return Answer(int(lines[0].split(" ")[1]), headers, rest[:length])
        try:
            part = wire.recv(65536)
        except ConnectionResetError:
            part = b""
        if not part:
            if found and "content-length" not in headers:
                return Answer(int(lines[0].split(" ")[1]), headers, rest)
            assert not got, f"an answer without an end: {got[:300]!r}"
            return Answer(0, {}, b"")
        got += part


def request(
    line: str | bytes = "GET /api/models HTTP/1.1",
    *headers: str | bytes,
    body: bytes = b"",
    host: str | None = "127.0.0.1:{port}",
    token: str | None = TOKEN,
) -> Callable[[int], bytes]:
    """Return a function of the port that builds a request; `{port}` is filled into the host."""

    def write(port: int) -> bytes:
        own = [] if host is None else [f"Host: {host.replace('{port}', str(port))}"]
        own += [] if token is None else [f"X-Headscope-Token: {token}"]
        lines = [each if isinstance(each, bytes) else each.encode("latin-1") for each in (line, *own, *headers)]
        return b"\r\n".join(lines) + b"\r\n\r\n" + body

    return write


def post(body: bytes, *headers: str, path: str = "/api/look", **more) -> Callable[[int], bytes]:
    """Return a function of the port that builds the request for a look."""
    return request(f"POST {path} HTTP/1.1", f"Content-Length: {len(body)}", *headers, body=body, **more)


def raw(content: bytes) -> Callable[[int], bytes]:
    """Return a function of the port that returns the bytes unchanged."""
    return lambda port: content


def plain(text: str) -> str:
    """Return a text in a form that fits into a test's name."""
    return re.sub(r"[^a-zA-Z0-9.]+", "-", text)[:24]
