"""Answers of the explorer to requests that no browser sends: a status, an error message, and never a traceback."""

import json
import logging

from support.explorer import TOKEN, running
from support.hostile import printable
from support.hostile_requests import requests
from support.http_bytes import ask
from support.stub_explorer import STUB, stub_reader, without_a_model


def problems(answer, request):
    """Return the problems of the answer to a request."""
    if answer.status not in request.status:
        return [f"status {answer.status}: {answer.body[:200]!r}"]
    if answer.status < 400:
        return []
    message = answer.body.decode()
    if answer.headers["content-type"] == "application/json":
        message = json.loads(message)["error"]
    checks = {
        "too long": len(message) < 500 or "<h1>" in message,
        "not printable": printable(message.replace("\r\n", " ")),
        "a traceback": "Traceback" not in message,
        "the token": TOKEN not in message,
        "a server": "server" not in answer.headers,
    }
    return [name for name, fine in checks.items() if not fine]


def test_every_request_is_answered(monkeypatch, caplog):
    without_a_model(monkeypatch)
    failures = {}
    with caplog.at_level(logging.INFO), running(STUB, load=stub_reader) as client:
        cached = json.loads(client.post({"model": "stub", "text": "kept"})[2])["id"]
        for request in requests():
            content = request.content(client.port).replace(b"KEPT", cached.encode())
            if found := problems(ask(client.port, content), request):
                failures[request.name] = found
        assert client.get("/api/models")[0] == 200
    assert failures == {}
    assert caplog.messages == []
