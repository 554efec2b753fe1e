"""Errors while the explorer answers: one printable line each in the terminal, and the server goes on."""

import json
import logging
from contextlib import ExitStack, contextmanager

import pytest

from headscope.app.explorer.request import LONGEST, Limits, describe_error, internal_error
from support.explorer import running, until
from support.hostile import printable
from support.http_bytes import ask, connect, post, request
from support.stub_explorer import STUB, stub_reader, without_a_model

pytestmark = pytest.mark.slow


@contextmanager
def explorer(limits=None, **made_up):
    with pytest.MonkeyPatch.context() as patch:
        without_a_model(patch, **made_up)
        with running(STUB, load=stub_reader, limits=limits) as client:
            yield client


def test_connections_beyond_the_limit_are_refused():
    with explorer(Limits(connections=4)) as client, ExitStack() as stack:
        for _ in range(4):
            stack.enter_context(connect(client.port))
        until(lambda: len(client.server.server_state.connections) == 4)
        assert ask(client.port, request()(client.port)).status == 503
        stack.close()
        until(lambda: not client.server.server_state.connections)
        assert client.get("/api/models")[0] == 200


def test_a_client_that_leaves_is_not_an_error(said):
    with explorer() as client:
        with connect(client.port, post(b" " * 9)(client.port)[:-5]):
            until(lambda: len(client.server.server_state.tasks) == 1)
        until(lambda: not client.server.server_state.tasks)
        assert client.get("/api/models")[0] == 200
    assert said == []


@pytest.fixture
def said():
    """Collect the lines of the explorer's log."""
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    log = logging.getLogger("headscope.explorer")
    log.addHandler(handler)
    yield lines
    log.removeHandler(handler)


def test_an_error_is_one_printable_line(said):
    internal_error(ValueError("\x1b[2J\nGET /?token=a\u202e"))
    internal_error(KeyError("a" * 9000))
    assert said[0] == ("headscope: the explorer met an error of its own: ValueError: ⟨U+001B⟩[2J⏎GET /?token=a⟨U+202E⟩")
    assert len(said[1]) < 2 * LONGEST
    assert all(printable(line) for line in said)
    assert describe_error(KeyError()) == "KeyError"


def test_an_error_is_logged_with_its_place(said):
    def broken(shelf, asked, *, limits):
        raise ZeroDivisionError("one\ntwo")

    with explorer(look=broken) as client:
        answer = client.post({"model": "stub", "text": "a secret"})
        assert "the explorer met an error of its own (ZeroDivisionError)" in client.refused(500, answer)
    (line,) = said
    assert "ZeroDivisionError: one⏎two (test_explorer_errors.py, line " in line
    assert "Traceback" not in line
    assert "secret" not in line


class Panic(BaseException):
    """An error that is not an `Exception`, as tokenizers in Rust raise."""


def test_the_thread_that_looks_outlives_every_error(said):
    errors = [Panic("range end"), SystemExit(3), StopIteration(), MemoryError(), TimeoutError()]

    def broken(shelf, asked, *, limits):
        raise errors[int(asked.text)]

    with explorer(look=broken) as client:
        for number, error in enumerate(errors):
            answer = client.post({"model": "stub", "text": str(number)})
            assert "an error of its own" in client.refused(500, answer)
            assert type(error).__name__ in said[-1]
    assert len(said) == len(errors)


def test_a_model_that_breaks_its_library_is_said():
    def broken(*_, **__):
        raise Panic("range end\nindex 5")

    with running(STUB, load=broken) as client:
        (model,) = json.loads(client.get("/api/models")[2])["models"]
    assert (model["state"], model["message"]) == ("failed", "stub could not be loaded: range end")
