"""Connections that are opened and not used: closed after seconds, bounded in number, and nobody else waits for them."""

import asyncio
import errno
import json
import logging
import select
import socket
import time
from contextlib import ExitStack, contextmanager, suppress

import pytest

from headscope.app.explorer.limits import Limits
from headscope.app.explorer.trouble import LONGEST, OneASecond, describe_error, log_internal_error, say_loops
from support.explorer import TOKEN, running, until
from support.hostile import printable
from support.http_bytes import ask, post, read_answer, request
from support.stub_explorer import STUB, stub_reader, without_a_model

pytestmark = pytest.mark.slow

SOON = Limits(connections=8, head_seconds=0.3, seconds=0.3, answer_seconds=0.2, linger_seconds=0.2)
GET = request()


@contextmanager
def explorer(limits=SOON, **made_up):
    with pytest.MonkeyPatch.context() as patch:
        without_a_model(patch, **made_up)
        with running(STUB, load=stub_reader, limits=limits) as client:
            yield client


@pytest.fixture(scope="module")
def client():
    with explorer() as client:
        yield client


def connect(client, content=b"", *, small=False):
    wire = socket.socket()
    if small:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.settimeout(5)
    wire.connect(("127.0.0.1", client.port))
    wire.sendall(content)
    return wire


def rest_of(wire):
    """What comes until the other side closes."""
    got = b""
    try:
        while part := wire.recv(65536):
            got += part
    except ConnectionResetError:
        pass
    return got


def open_connections(client):
    return len(client.server.server_state.connections)


def closed(client, seconds):
    """Wait until the server holds no connection."""
    until(lambda: open_connections(client) == 0, seconds=seconds)


def test_silent(client):
    started = time.monotonic()
    with connect(client) as wire:
        assert rest_of(wire) == b""
    assert 0.2 < time.monotonic() - started < 2


@pytest.mark.parametrize(
    "begun", [b"G", b"GET / HTTP/1.1", b"GET / HTTP/1.1\r\nHost: 127.0.0.1", b"GET / HTTP/1.1\r\nA: b\r\n"]
)
def test_a_head_that_stops(client, begun):
    with connect(client, begun) as wire:
        answer = read_answer(wire)
        assert answer.status == 408
        assert answer.headers["connection"] == "close"
        sentence = "the request did not arrive within 0.3 seconds; send it again"
        assert json.loads(answer.body) == {"error": sentence}
        assert rest_of(wire) == b""


def test_a_head_byte_by_byte(client):
    """Each byte is progress; the clock runs on."""
    started = time.monotonic()
    with connect(client) as wire:
        for byte in GET(client.port)[:-4] + b"\r\nX: " + b"a" * 1000:
            wire.sendall(bytes([byte]))
            if select.select([wire], [], [], 0.03)[0]:
                break
        assert read_answer(wire).status == 408
    assert time.monotonic() - started < 2


def test_a_further_request_that_stops(client):
    with connect(client, GET(client.port)) as wire:
        assert read_answer(wire).status == 200
        wire.sendall(b"GET")
        assert read_answer(wire).status == 408
        assert rest_of(wire) == b""


def test_a_further_request_that_stops_in_the_first_packet(client):
    with connect(client, GET(client.port) + b"GET /api") as wire:
        got = rest_of(wire)
    assert got.startswith(b"HTTP/1.1 200 ")
    assert got.count(b"HTTP/1.1 408 ") == 1


def test_a_body_that_does_not_come(client):
    content = request("POST /api/look HTTP/1.1", "Content-Length: 9")(client.port)
    with connect(client, content + b"{") as wire:
        assert read_answer(wire).status == 408
        assert rest_of(wire) == b""


@pytest.mark.parametrize("token", [TOKEN, None])
def test_a_body_that_goes_on_after_its_answer(client, token):
    """An answer that did not wait for the body: who sends it byte by byte is not heard for ever."""
    length = "Content-Length: 99999999" if token else "Content-Length: 9999"
    content = request("POST /api/look HTTP/1.1", length, token=token)(client.port)
    with connect(client, content) as wire:
        assert read_answer(wire).status == (413 if token else 403)
        started = time.monotonic()
        with suppress(ConnectionError):
            while time.monotonic() - started < 5:
                wire.sendall(b" ")
                time.sleep(0.03)
        assert time.monotonic() - started < 2


def test_nonsense_after_an_answer_is_not_answered_again(client):
    content = request("POST /api/look HTTP/1.1", "Transfer-Encoding: chunked", token=None)(client.port)
    with connect(client, content) as wire:
        assert read_answer(wire).status == 403
        wire.sendall(b"nonsense\r\n")
        assert rest_of(wire) == b""


def test_nonsense_in_a_body_that_is_waited_for(client):
    content = request("POST /api/look HTTP/1.1", "Transfer-Encoding: chunked")(client.port)
    with connect(client, content) as wire:
        time.sleep(0.05)
        wire.sendall(b"1\r\n{\r\nnonsense\r\n")
        answer = read_answer(wire)
        assert answer.status == 400
        assert rest_of(wire) == b""


def test_nonsense_before_a_body_is_asked_for(client, said):
    """Nobody says `100 Continue` on a connection that is being closed."""
    headers = ("Expect: 100-continue", "Transfer-Encoding: chunked")
    content = request("POST /api/look HTTP/1.1", *headers, body=b"nonsense\r\n")(client.port)
    with connect(client, content) as wire:
        time.sleep(0.05)
        assert rest_of(wire).startswith(b"HTTP/1.1 400 ")
    assert said[0] == []


def test_who_goes_while_being_answered_is_no_error(client, said):
    """The client's end can arrive between the answer and the server's own end."""

    def gone():
        raise OSError(errno.ENOTCONN, "Transport endpoint is not connected")

    closed(client, 5)
    with connect(client) as wire:
        until(lambda: open_connections(client) == 1)
        (held,) = client.server.server_state.connections
        held.transport.write_eof = gone
        wire.sendall(request("POST / HTTP/1.1", "Content-Length: 9", token=None)(client.port))
        assert read_answer(wire).status == 403
        assert rest_of(wire) == b""
    assert said[0] == []


def test_requests_in_a_row(client):
    content = GET(client.port)
    with connect(client, content * 30 + content.replace(b"HTTP/1.1", b"HTTP/1.0")) as wire:
        got = rest_of(wire)
    assert got.count(b"HTTP/1.1 200 OK") == 31


LARGE = 30_000_000


def large(shelf, asked, *, limits):
    from headscope.app.explorer.served_snapshot import Look

    return Look(request=asked, payload_json=b" " * LARGE, layers={"encoder": {1: b"1234"}})


def test_an_answer_that_is_not_taken():
    with explorer(look=large) as client:
        wire = connect(client, post(b'{"model": "stub", "text": "a"}')(client.port), small=True)
        until(lambda: open_connections(client) == 1)
        started = time.monotonic()
        closed(client, 5)
        assert time.monotonic() - started < 3
        assert len(rest_of(wire)) < LARGE
        wire.close()


def test_an_answer_that_is_taken_slowly_arrives():
    """64 KiB in each while: a connection through a tunnel is slow, and none that is half-open."""
    asked = post(b'{"model": "stub", "text": "a"}')
    with explorer(Limits(answer_seconds=0.4), look=large) as client, connect(client, asked(client.port)) as wire:
        got, started = 0, time.monotonic()
        while got < LARGE:
            part = wire.recv(1 << 16)
            assert part
            got += len(part)
            time.sleep(0.01 if time.monotonic() - started < 1 else 0)


def test_answers_in_a_row_that_are_not_taken():
    with explorer(look=large) as client:
        wire = connect(client, post(b'{"model": "stub", "text": "a"}')(client.port) * 9, small=True)
        until(lambda: open_connections(client) == 1)
        closed(client, 5)
        wire.close()


MANY = 300


@pytest.mark.parametrize("begun", [b"", b"GET / HT", "refused"])
def test_the_page_is_served_while_hundreds_wait(begun):
    """Nothing is due while the test runs: it is the number that is bounded."""
    limits = Limits(connections=16, leaving=32, head_seconds=60.0, seconds=60.0, answer_seconds=60.0)
    with explorer(limits) as client, ExitStack() as stack:
        content = request(token=None)(client.port) if begun == "refused" else begun
        wires = []
        for number in range(MANY):
            wires.append(stack.enter_context(connect(client, content)))
            if number % 50 == 0:
                # Those refused are being answered for a moment, and on a busy machine 16 of them may be.
                until(lambda: ask(client.port, GET(client.port), seconds=2).status == 200, seconds=5)
        started = time.monotonic()
        status, _, body = client.get(f"/?token={TOKEN}", token=False)
        assert (status, body[:15]) == (200, b"<!doctype html>")
        assert client.post({"model": "stub", "text": "a"})[0] == 200
        assert time.monotonic() - started < 1
        assert open_connections(client) <= 16 + 32
        # The oldest were closed, and the newest are open.
        assert wires[0] in select.select([wires[0]], [], [], 0)[0]
        assert rest_of(wires[0]).count(b"HTTP/1.1") <= 1


def test_where_all_are_being_answered_a_further_one_is_told():
    def slow(shelf, asked, *, limits):
        time.sleep(0.5)
        return large(shelf, asked, limits=limits)

    with explorer(Limits(connections=4), look=slow) as client, ExitStack() as stack:
        for number in range(4):
            content = post(json.dumps({"model": "stub", "text": str(number)}).encode())(client.port)
            stack.enter_context(connect(client, content))
        until(lambda: len(client.server.server_state.tasks) == 4)
        answer = ask(client.port, GET(client.port))
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert json.loads(answer.body)["error"] == "4 requests are being answered already; ask again in a moment"


def test_every_request_of_a_crowd_is_answered(client):
    """60 connections, each with its request, are accepted at once where 8 may be open; none of them is reset."""
    (listening,) = client.server.servers
    with ExitStack() as stack:
        listening.get_loop().call_soon_threadsafe(time.sleep, 0.5)
        wires = [stack.enter_context(connect(client, GET(client.port))) for _ in range(60)]
        answers = [read_answer(wire) for wire in wires]
    assert {answer.status for answer in answers} == {200, 503}
    told = {json.loads(answer.body)["error"] for answer in answers if answer.status == 503}
    assert told == {"8 connections are open already; ask again in a moment"}
    assert {answer.headers["retry-after"] for answer in answers if answer.status == 503} == {"1"}
    assert sum(answer.status == 200 for answer in answers) >= 8


def test_a_stop_waits_for_nobody():
    limits = Limits(head_seconds=60.0, seconds=60.0, answer_seconds=60.0)
    with ExitStack() as stack:
        with explorer(limits, look=large) as client:
            half = request("POST /api/look HTTP/1.1", "Content-Length: 9")(client.port)
            untaken = post(b'{"model": "stub", "text": "a"}')(client.port)
            for content in (b"", b"GET", half, untaken, untaken * 3, b"\0\r\n\r\n", GET(client.port)):
                stack.enter_context(connect(client, content, small=True))
            time.sleep(0.2)
            started = time.monotonic()
        assert time.monotonic() - started < 2.5
        assert not client.thread.is_alive()


class Now:
    def __init__(self):
        self.time = 0.0

    def __call__(self):
        return self.time


@pytest.fixture
def said():
    """Lines of the explorer's log, with a clock of the test's."""
    log = logging.getLogger("headscope.explorer")
    lines, now = [], Now()
    handler = logging.StreamHandler(SimpleStream(lines))
    log.addHandler(handler)
    kept, log.filters = log.filters, [OneASecond(clock=now)]
    yield lines, now
    log.filters = kept
    log.removeHandler(handler)


class SimpleStream:
    def __init__(self, lines):
        self.lines = lines

    def write(self, text):
        self.lines.append(text)

    def flush(self):
        pass


def test_errors_are_a_line_and_one_a_second(said):
    lines, now = said
    for _ in range(1000):
        log_internal_error(ValueError("\x1b[2J\nGET /?token=a\u202e"))
    now.time = 0.9
    log_internal_error(KeyError("a"))
    now.time = 1.1
    log_internal_error(KeyError("a" * 9000))
    assert len(lines) == 2
    assert lines[0] == (
        "headscope: the explorer met an error of its own: ValueError: ⟨U+001B⟩[2J⏎GET /?token=a⟨U+202E⟩\n"
    )
    assert lines[1].endswith("; 1,000 more since the last one\n")
    assert len(lines[1]) < 2 * LONGEST
    assert all(printable(line) for line in lines)


def test_an_error_of_the_explorers_own_is_told_with_its_place(said):
    def broken(shelf, asked, *, limits):
        raise ZeroDivisionError("one\ntwo")

    with explorer(look=broken) as client:
        for number in range(20):
            answer = client.post({"model": "stub", "text": f"a secret {number}"})
            assert "the explorer met an error of its own (ZeroDivisionError)" in client.refused(500, answer)
    (line,) = said[0]
    assert "ZeroDivisionError: one⏎two (test_explorer_connections.py, line " in line
    assert "Traceback" not in line
    assert "secret" not in line


def test_where_no_file_can_be_opened_a_line_is_said(said):
    """asyncio says so once for each connection that it could not accept, with a traceback."""
    error = OSError(errno.EMFILE, "Too many open files")
    loop = asyncio.new_event_loop()
    for _ in range(2000):
        say_loops(loop, {"message": "socket.accept() out of system resource", "exception": error, "socket": None})
    loop.close()
    sentence = "socket.accept() out of system resource: OSError: [Errno 24] Too many open files"
    assert said[0] == [f"headscope: the explorer's server: {sentence}\n"]


def test_the_servers_loop_says_it_so():
    with explorer() as client:
        handlers = []
        for connection in [connect(client)]:
            until(lambda: open_connections(client) == 1)
            (held,) = client.server.server_state.connections
            handlers.append(held.loop.get_exception_handler())
            connection.close()
    assert handlers == [say_loops]


class Panic(BaseException):
    """What a tokenizer in Rust raises where it is broken; no `Exception`."""


def test_the_thread_that_looks_outlives_every_error(said):
    errors = [Panic("range end"), SystemExit(3), StopIteration(), MemoryError(), TimeoutError()]

    def broken(shelf, asked, *, limits):
        if asked.text:
            raise errors[int(asked.text)]
        return large(shelf, asked, limits=limits)

    lines, now = said
    with explorer(look=broken) as client:
        for number, error in enumerate(errors):
            now.time += 2
            answer = client.post({"model": "stub", "text": str(number)})
            assert "an error of its own" in client.refused(500, answer)
            until(lambda: len(lines) > number)  # noqa: B023
            assert type(error).__name__ in lines[-1]
        assert client.post({"model": "stub", "text": ""})[0] == 200


def test_a_model_that_breaks_its_library_is_said():
    def broken(*_, **__):
        raise Panic("range end\nindex 5")

    with running(STUB, load=broken) as client:
        (model,) = json.loads(client.get("/api/models")[2])["models"]
    assert (model["state"], model["message"]) == ("failed", "stub could not be loaded: range end")


def test_what_is_told_of_an_error_without_a_text():
    assert describe_error(KeyError()) == "KeyError"
