"""The explorer's server: raw bytes, through uvicorn's own HTTP parser, to the app.

Every request gets one answer, with an error message if it is refused; nothing is served without host and token.
"""

import asyncio
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import h11

from fuzz.sample import Sample
from fuzz.target import Check, Target
from headscope.app.explorer.model_shelf import NamedModel, Shelf
from headscope.app.explorer.request import Limits, LookRequest
from headscope.app.explorer.web_app import Explorer
from headscope.errors import InputError
from headscope.views.snapshot_of import reader_of
from support.hostile import printable
from support.tiny_tokenizers import tiny_loaded

_TOKEN, _PORT = "a-token-only-for-tests", 8123
_KEPT = LookRequest(model="bert", text="The cat sat.")


def _request(line: str, body: bytes = b"", **headers: str) -> Sample:
    told = {"host": f"127.0.0.1:{_PORT}", "x-headscope-token": _TOKEN, **headers}
    if body:
        told["content-length"] = str(len(body))
    head = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in told.items())
    return {"one.request": f"{line} HTTP/1.1\r\n{head}\r\n".encode() + body}


def _seeds(folder: Path) -> list[Sample]:
    asked = [
        {"model": "bert", "text": "The cat sat."},
        {"model": "bert", "text": "The cat", "text_b": "a dog"},
        {"model": "gpt2", "text": "the dog", "generate": 2},
        {"model": "t5", "text": "the dog", "decoder_text": "a cat"},
    ]
    posts = [_request("POST /api/look", json.dumps(each).encode()) for each in asked]
    queries = ("kind=encoder&layer=1", "kind=decoder&layer=1", "kind=encoder&layer=99", "")
    gets = [_request(f"GET /api/look/{_KEPT.id}/{part}?{q}") for part in ("layer", "neuron") for q in queries]
    page = _request(f"GET /?token={_TOKEN}", x_headscope_token="")
    page = {"one.request": page["one.request"].replace(b"x-headscope-token: \r\n", b"")}
    foreign = _request("POST /api/look", b"{}", origin="http://evil.example", content_type="text/plain")
    return [*posts, *gets, page, _request("GET /api/models"), _request("HEAD /"), foreign]


def _prepare(folder: Path) -> Check:
    readers = {family: reader_of(tiny_loaded(family)) for family in ("bert", "gpt2", "t5")}
    shelf = Shelf([NamedModel(name=name, source=name) for name in readers], load=lambda source, **_: readers[source])
    limits = Limits(characters=400, tokens=40, body=4000, kept=1 << 22)
    explorer = Explorer(shelf, token=_TOKEN, limits=limits)
    explorer.start()
    while not all(each["state"] == "ready" for each in shelf.descriptions()):
        time.sleep(0.01)
    loop, pool = asyncio.new_event_loop(), ThreadPoolExecutor(1)

    def answered(asked: Any) -> Any:
        # A separate thread is needed, since this one may already have an event loop from browser tests.
        return pool.submit(loop.run_until_complete, asked).result()

    def run(given: Path) -> None:
        (path,) = given.iterdir()
        scope, body = _parsed(path.read_bytes())
        sent = answered(asyncio.wait_for(_asked(explorer, scope, body), 30))
        _check(scope, sent)

    content = json.dumps({"model": _KEPT.model, "text": _KEPT.text}).encode()
    scope, body = _parsed(_request("POST /api/look", content)["one.request"])
    sent = answered(_asked(explorer, scope, body))
    assert sent[0]["status"] == 200, sent
    return run


def _parsed(wire: bytes) -> tuple[dict[str, Any], list[bytes]]:
    """Return the ASGI scope and the body of a request as uvicorn parses it; invalid HTTP never reaches the app."""
    connection = h11.Connection(h11.SERVER)
    body: list[bytes] = []
    request = None
    try:
        connection.receive_data(wire)
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body.append(bytes(event.data))
            else:
                break
    except h11.RemoteProtocolError:
        if request is None:
            raise InputError("no HTTP") from None
    if request is None:
        raise InputError("no HTTP")
    path, _, query = request.target.partition(b"?")
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": request.http_version.decode("ascii"),
        "server": ("127.0.0.1", _PORT),
        "client": ("127.0.0.1", 50000),
        "scheme": "http",
        "method": request.method.decode("ascii"),
        "root_path": "",
        "path": unquote(path.decode("ascii", "replace")),
        "raw_path": path,
        "query_string": query,
        "headers": [(bytes(name), bytes(value)) for name, value in request.headers],
        "state": {},
    }
    return scope, body


async def _asked(explorer: Explorer, scope: dict[str, Any], body: list[bytes]) -> list[dict[str, Any]]:
    """Pass a request to the app piece by piece and return all messages that it sends."""
    pieces = [*body, b""]
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        if not pieces:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": pieces.pop(0), "more_body": bool(pieces)}

    async def send(message: Any) -> None:
        sent.append(dict(message))

    await explorer.asgi(scope, receive, send)
    return sent


def _check(scope: dict[str, Any], sent: list[dict[str, Any]]) -> None:
    assert [one["type"] for one in sent].count("http.response.start") == 1, "no answer, or two"
    assert sent[0]["type"] == "http.response.start"
    status = sent[0]["status"]
    assert status != 500, f"an error of its own: {b''.join(one.get('body', b'') for one in sent[1:])[:300]!r}"
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in sent[0]["headers"]}
    assert not any("\r" in value or "\n" in value for value in headers.values()), "a header broken in two"
    content = b"".join(one.get("body", b"") for one in sent[1:])
    given = dict(scope["headers"])
    if status < 400:
        host = given[b"host"].decode("latin-1").lower().split(":")[0]
        assert host in ("127.0.0.1", "localhost"), "served to another host"
        token = given.get(b"x-headscope-token", scope["query_string"])
        assert _TOKEN.encode() in token or "%" in token.decode("latin-1"), "served without the token"
    elif headers["content-type"] == "application/json" and scope["method"] != "HEAD":
        told = json.loads(content)
        assert list(told) == ["error"]
        assert printable(told["error"]), f"not printable: {told['error']!r}"
        assert len(told["error"]) <= 2000, "an endless message"


TARGETS = [Target(name="explorer", seeds=_seeds, prepare=_prepare)]
