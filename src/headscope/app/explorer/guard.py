"""The guard of the explorer: every request is checked here first, and every answer leaves through here."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from secrets import compare_digest
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from headscope.app.explorer.http_answers import DRESS, Refusal, error_body, internal_error
from headscope.app.explorer.limits import Limits
from headscope.app.explorer.page import Served
from headscope.app.explorer.trouble import log_internal_error

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

TOKEN_HEADER = "X-Headscope-Token"


@dataclass(frozen=True, kw_only=True)
class Door:
    """The requirements for a request.

    Attributes:
        port: port of the server; `Host` must be 127.0.0.1 or localhost with this port, so that no foreign host name is
            accepted.
        token: token in the query of the page's address, and in a header of every other request.
        limits: limits on the request.
        closed: page for requests without the token.
    """

    port: int
    token: str
    limits: Limits
    closed: Served

    @property
    def hosts(self) -> tuple[str, ...]:
        """The host names that a request may use."""
        names = ("127.0.0.1", "localhost")
        return tuple(f"{name}:{self.port}" for name in names) + (names if self.port == 80 else ())


class Guard:
    """An ASGI app around another: check host, token, origin and size, and add headers to every answer.

    Args:
        app: app that answers the accepted requests.
        door: requirements for a request.
    """

    def __init__(self, app: App, door: Door) -> None:
        self.app = app
        self.door = door

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        answer = _Answer(send)
        try:
            page = scope["path"] == "/"
            _check_head(scope, self.door.limits)
            _check_host(scope, self.door)
            if not _may_pass(scope, self.door, page=page):
                await _refuse_token(answer, self.door, page=page)
                return
            _check_origin(scope, self.door)
            body = await _read_in_time(scope, receive, self.door.limits)
            await self.app(scope, _again(body, receive), answer)
        except Refusal as refusal:
            await answer.refuse(refusal)
        except _Gone:
            return
        except Exception as error:
            log_internal_error(error)
            await answer.refuse(internal_error(error))


class _Gone(Exception):
    """The client has disconnected."""


class _Answer:
    """Sends messages on, adding the common headers to the start of an answer."""

    def __init__(self, send: Send) -> None:
        self.send = send
        self.started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            sent = {name.lower(): value for name, value in message.get("headers", [])}
            more = {name.encode(): value.encode() for name, value in DRESS.items()}
            message = {**message, "headers": [*sent.items(), *((n, v) for n, v in more.items() if n not in sent)]}
        await self.send(message)

    async def refuse(self, refusal: Refusal) -> None:
        """Answer with an error message, if no answer has begun."""
        await self.whole(refusal.status, "application/json", error_body(refusal.sentence), refusal.headers.items())

    async def whole(self, status: int, kind: str, body: bytes, headers: Iterable[tuple[str, str]] = ()) -> None:
        """Send a complete answer, if none has begun."""
        if self.started:
            return
        fields = {"content-type": kind, "content-length": str(len(body)), **dict(headers)}
        written = [(name.lower().encode(), value.encode()) for name, value in fields.items()]
        await self({"type": "http.response.start", "status": status, "headers": written})
        await self({"type": "http.response.body", "body": body})


def _check_head(scope: MutableMapping[str, Any], limits: Limits) -> None:
    """Raise an error for requests that h11 accepts: another HTTP version, an oversized head, two body lengths."""
    if scope["http_version"] not in ("1.0", "1.1"):
        raise Refusal(505, "expected HTTP/1.1; send the request in that version")
    headers = scope["headers"]
    line = len(scope["raw_path"]) + len(scope["query_string"])
    if line + sum(len(name) + len(value) for name, value in headers) > limits.head:
        raise Refusal(431, f"the request's line and headers are over {limits.head:,} bytes; send fewer")
    if len(headers) > limits.headers:
        raise Refusal(431, f"the request has {len(headers):,} headers, and at most {limits.headers} are read")
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in headers}:
        raise Refusal(400, "expected Content-Length or Transfer-Encoding, got both; send one of them")


def _check_host(scope: MutableMapping[str, Any], door: Door) -> None:
    hosts = _headers(scope, b"host")
    if len(hosts) != 1 or hosts[0].lower() not in door.hosts:
        expected = " or ".join(door.hosts[:2])
        raise Refusal(403, f"expected the host {expected}; open the address that headscope explore printed")


def _may_pass(scope: MutableMapping[str, Any], door: Door, *, page: bool) -> bool:
    tokens = _headers(scope, TOKEN_HEADER.lower().encode())
    if page and not tokens:
        query = scope.get("query_string", b"").decode("latin-1")
        try:
            tokens = parse_qs(query, keep_blank_values=True, max_num_fields=20).get("token", [])
        except ValueError:
            tokens = []
    return len(tokens) == 1 and compare_digest(tokens[0].encode(), door.token.encode())


async def _refuse_token(answer: _Answer, door: Door, *, page: bool) -> None:
    if page:
        policy = ("content-security-policy", door.closed.policy)
        await answer.whole(403, "text/html; charset=utf-8", door.closed.body, [policy])
        return
    raise Refusal(
        403, f"expected the explorer's token in the header {TOKEN_HEADER}; it is in the address that was printed"
    )


def _check_origin(scope: MutableMapping[str, Any], door: Door) -> None:
    """Raise an error for requests from another site's page; browsers send the origin with every POST."""
    if scope["method"] in ("GET", "HEAD", "OPTIONS"):
        return
    ours = {f"http://{host}" for host in door.hosts}
    if any(origin.lower() not in ours for origin in _headers(scope, b"origin")):
        raise Refusal(403, "expected a request from the explorer's own page, got one from another site")


async def _read_in_time(scope: MutableMapping[str, Any], receive: Receive, limits: Limits) -> bytes:
    try:
        return await asyncio.wait_for(_read(scope, receive, limits.body), limits.seconds)
    except TimeoutError:
        raise Refusal(408, f"the request did not arrive within {limits.seconds:g} seconds; send it again") from None


async def _read(scope: MutableMapping[str, Any], receive: Receive, most: int) -> bytes:
    """Read and count the body, because an announced length may be missing or wrong."""
    too_large = Refusal(413, f"the request is over {most:,} bytes; shorten the text")
    lengths = _headers(scope, b"content-length")
    if lengths and lengths[0].isdecimal() and int(lengths[0][:12]) > most:
        raise too_large
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        body += message.get("body", b"")
        if len(body) > most:
            raise too_large
        if not message.get("more_body", False):
            return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first returns a body that was already read, and then continues."""
    left = [body]

    async def hand_over() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return hand_over


def _headers(scope: MutableMapping[str, Any], name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]
