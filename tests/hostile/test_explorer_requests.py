"""What the explorer answers to requests that no browser sends: a status, words, and never a traceback."""

import json
import logging

import pytest

from support.explorer import TOKEN, running
from support.hostile import printable
from support.hostile_requests import requests
from support.http_bytes import Request, ask
from support.stub_explorer import STUB, stub_reader, without_a_model

DRESS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-store",
}


@pytest.fixture(scope="module")
def client():
    """One server for all; afterwards it must have had nothing to complain of."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())
    logging.getLogger().addHandler(handler)
    with pytest.MonkeyPatch.context() as patch:
        without_a_model(patch)
        with running(STUB, load=stub_reader) as client:
            client.kept = json.loads(client.post({"model": "stub", "text": "kept"})[2])["id"]
            yield client
            assert client.get("/api/models")[0] == 200
    logging.getLogger().removeHandler(handler)
    assert said == []


def told(answer):
    """What an answer's error says, in words."""
    assert {name: answer.headers[name] for name in DRESS} == DRESS
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "server" not in answer.headers
    if answer.headers["content-type"].startswith("text/html"):
        return answer.body.decode()
    assert answer.headers["content-type"] == "application/json"
    return json.loads(answer.body)["error"]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.name) for case in requests()])
def test_every_request_is_answered_in_words(client, case: Request):
    content = case.content(client.port).replace(b"KEPT", client.kept.encode())
    answer = ask(client.port, content)
    assert answer.status in case.status, answer
    if answer.status >= 400 and not content.startswith(b"HEAD "):
        words = told(answer)
        assert len(words) > 20
        assert len(words) < 500 or "<h1>" in words
        assert printable(words)
        assert "Traceback" not in words
        assert TOKEN not in words
