"""What the explorer admits: sizes, JSON and its types, in words; never an error of its own."""

import json
import socket

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headscope.app.explorer.request import Limits, LookRequest, Refusal, read_request
from support.explorer import TOKEN, running
from support.model_folders import save_tiny_bert

LIMITS = Limits(characters=400, tokens=64, weights=3000, body=2000)
TOO_LARGE = "the request is over 2,000 bytes; shorten the text"
EXPECTED = (
    'expected JSON in UTF-8, {"model": ..., "text": ...}, with text_b, decoder_text (texts) and generate (a whole '
    "number from 0 to 64) where needed"
)


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = save_tiny_bert(tmp_path_factory.mktemp("model") / "tiny-bert")
    with running([str(folder)], limits=LIMITS) as client:
        yield client


def ask(**parts):
    return {"model": "tiny-bert", "text": "A cat.", **parts}


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"\xff\xfe", b'{"model": NaN}', b"[" * 1900, b"1" * 1900, b"[1]", b"[[1, 2]]", b"null", b"{}"),
        *(ask(text=None), ask(text=["A"]), ask(model=3), ask(text_b={}), ask(decoder_text=True), ask(color="red")),
        *(ask(generate=value) for value in ("3", 65, -1, 1.5, True, 10**60)),
    ],
)
def test_what_is_no_request(client, body):
    assert client.refused(400, client.post(body)) == EXPECTED


@pytest.mark.parametrize(
    ("parts", "status", "sentence"),
    [
        ({"text": "a" * 401}, 413, "text is 401 characters long, and at most 400 are read; shorten it"),
        ({"text_b": "a" * 500}, 413, "text_b is 500 characters long, and at most 400 are read; shorten it"),
        ({"text": "a " * 63}, 413, "the text is 65 tokens long and the explorer takes at most 64; shorten it"),
        (
            {"text": "a " * 40},
            413,
            "the attention of 42 tokens is 7,056 weights in tiny-bert, and the explorer takes at most 3,000; shorten "
            "the text",
        ),
        ({"text": ""}, 422, "the text '' has no tokens; expected at least one word"),
        ({"text": " \n"}, 422, "the text ' \\n' has no tokens; expected at least one word"),
        ({"generate": 3}, 422, "tiny-bert reads a text in both directions and cannot write one; ask for 0 tokens"),
        ({"decoder_text": "A dog."}, 422, "tiny-bert has no decoder behind an encoder; leave the decoder's text out"),
        ({"model": "../secret"}, 404, "no model has this name; the explorer was started with tiny-bert"),
    ],
)
def test_what_cannot_be_met(client, parts, status, sentence):
    assert client.refused(status, client.post(ask(**parts))) == sentence


def test_a_body_over_the_limit_by_its_length(client):
    assert client.refused(413, client.post(b" " * 2001)) == TOO_LARGE


def test_a_body_over_the_limit_in_chunks(client):
    """No length is told beforehand: bytes are counted as they come, and the rest is not waited for."""
    head = f"POST /api/look HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nX-Headscope-Token: {TOKEN}\r\n"
    with socket.create_connection(("127.0.0.1", client.port), timeout=10) as wire:
        wire.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        for _ in range(3):
            wire.sendall(b"320\r\n" + b" " * 0x320 + b"\r\n")
        answer = b""
        while not answer.endswith(b"}"):
            part = wire.recv(65536)
            assert part, answer
            answer += part
    assert b" 413 " in answer.split(b"\r\n", 1)[0]
    assert json.loads(answer.split(b"\r\n\r\n", 1)[1]) == {"error": TOO_LARGE}


@pytest.mark.parametrize("length", ["-1", "x", "99999999999999999999999", "5, 6"])
def test_a_length_that_is_none(client, length):
    head = f"POST /api/look HTTP/1.1\r\nHost: 127.0.0.1:{client.port}\r\nX-Headscope-Token: {TOKEN}\r\n"
    answer = client.raw(f"{head}Connection: close\r\nContent-Length: {length}\r\n\r\n{{}}".encode())
    assert answer.split()[1] in (b"400", b"413")


def test_bytes_that_are_no_request_at_all(client):
    for content in (b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"):
        assert b" 400 " in client.raw(content).split(b"\r\n", 1)[0]
    assert client.get("/api/models")[0] == 200


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
REQUESTS = st.fixed_dictionaries(
    {},
    optional={
        "model": st.just("tiny-bert") | JSON,
        "text": st.text() | JSON,
        "text_b": st.text() | JSON,
        "decoder_text": JSON,
        "generate": st.integers(-2, 80) | JSON,
    },
)


@pytest.mark.slow
@given(st.binary() | (REQUESTS | JSON).map(lambda value: json.dumps(value).encode()))
@settings(max_examples=400)
def test_any_bytes_are_a_request_or_are_refused(body):
    try:
        found = read_request(body, limits=LIMITS)
    except Refusal as refusal:
        found = refusal
    if isinstance(found, Refusal):
        assert found.status in (400, 413)
        assert found.sentence
    else:
        assert isinstance(found, LookRequest)
        assert len(found.id) == 32
        found.text.encode("utf-8")


@given(REQUESTS.map(json.dumps))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_server_never_fails_at_a_request(client, body):
    status, headers, content = client.post(body.encode())
    assert status in (200, 400, 404, 413, 422)
    assert headers["content-type"] == "application/json"
    assert b"Traceback" not in content


def test_the_same_request_has_the_same_id():
    one = LookRequest(model="m", text="a", text_b=None)
    assert one.id == LookRequest(model="m", text="a").id
    others = [
        LookRequest(model="m", text="a", text_b="b"),
        LookRequest(model="m", text="a", decoder_text="b"),
        LookRequest(model="m", text="a", generate=1),
        LookRequest(model="ma", text=""),
    ]
    assert len({one.id, *(other.id for other in others)}) == 5
