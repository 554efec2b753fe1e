"""Who may ask the explorer: host, token, origin, methods, paths, and the headers of every answer."""

import json

import pytest

from support.explorer import TOKEN, running
from support.model_folders import save_tiny_bert

NO_TOKEN = "expected the explorer's token in the header X-Headscope-Token; it is in the address that was printed"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    folder = save_tiny_bert(tmp_path_factory.mktemp("model") / "tiny-bert")
    with running([str(folder)]) as client:
        yield client


def test_the_page_opens_with_the_token(client):
    status, headers, body = client.get(f"/?token={TOKEN}", token=False)
    assert status == 200
    assert headers["content-type"] == "text/html; charset=utf-8"
    page = body.decode()
    assert page.startswith("<!doctype html>")
    # The token is in no copy of the page that somebody saves.
    assert TOKEN not in page
    assert "connect-src 'self'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]


@pytest.mark.parametrize("path", ["/", "/?token=", "/?token=wrong", f"/?token={TOKEN}&token=a", "/?token=%FF"])
def test_without_the_token_there_is_a_door(client, path):
    status, headers, body = client.get(path, token=False)
    assert status == 403
    page = body.decode()
    assert "This page opens with the address that headscope explore printed" in page
    assert "tiny-bert" not in page
    assert "connect-src" not in headers["content-security-policy"]


@pytest.mark.parametrize("given", [None, "", "wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "ÿ"])
@pytest.mark.parametrize("path", ["/api/models", "/api/look", "/api/look/0/layer", "/nothing"])
def test_nothing_else_answers_without_the_token(client, given, path):
    for method in ("GET", "POST"):
        headers = {"X-Headscope-Token": given.encode("latin-1") if given else given}
        answer = client.ask(method, f"{path}?token={TOKEN}", b"{}", headers=headers, token=False)
        assert client.refused(403, answer) == NO_TOKEN


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "localhost.evil.example:{port}",
        "[::1]:{port}",
        "0.0.0.0:{port}",
        "",
    ],
)
@pytest.mark.parametrize("path", [f"/?token={TOKEN}", "/api/models"])
def test_another_host_is_another_site(client, host, path):
    """A name of somebody else's may be made to lead to 127.0.0.1 (DNS rebinding)."""
    status, _, body = client.get(path, headers={"Host": host.format(port=client.port)})
    assert (status, body) == (400, b"Invalid host header")


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "localhost:8000"])
def test_this_machines_names_are_answered(client, host):
    """A forwarded port has another number than the server's."""
    host = host.format(port=client.port)
    assert client.get("/api/models", headers={"Host": host})[0] == 200
    asked = {"model": "tiny-bert", "text": "A cat."}
    assert client.post(asked, headers={"Host": host, "Origin": f"http://{host}"})[0] == 200


def test_a_host_must_be_named_once(client):
    port = client.port
    twice = f"GET /api/models HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    assert client.raw(twice.encode()).split()[1] == b"400"
    assert client.raw(b"GET /api/models HTTP/1.0\r\n\r\n").split()[1] == b"400"


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1:{port}", "http://127.0.0.1:1", ""]
)
def test_a_post_from_another_site_is_refused(client, origin):
    answer = client.post({}, headers={"Origin": origin.format(port=client.port)})
    assert client.refused(403, answer) == ("expected a request from the explorer's own page, got one from another site")


def test_every_answer_is_dressed(client):
    preflight = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    asked = [
        client.get(f"/?token={TOKEN}", token=False),
        client.get("/", token=False),
        client.get("/api/models"),
        client.get("/api/models", headers={"Host": "evil.example"}),
        client.get("/nothing"),
        client.post({"model": "tiny-bert", "text": "A cat."}),
        client.post(b"["),
        client.ask("DELETE", "/api/look"),
        client.ask("OPTIONS", "/api/look", headers=preflight),
    ]
    told = client.look("A cat.")
    asked.append(client.get(f"/api/look/{told['id']}/layer?kind=encoder&layer=1"))
    for status, headers, _ in asked:
        if headers["content-type"].startswith("text/html"):
            assert "default-src 'none'" in headers["content-security-policy"], status
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
        assert not any(name.startswith("access-control") for name in headers)
        assert "server" not in headers
        assert "set-cookie" not in headers


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/..",
        "/../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/static/dom.js",
        "/api",
        "/api/",
        "/api/models/",
        "//api/models",
        "/api/look/../models",
        "/favicon.ico",
        "/api/look/%00/x",
        "/docs",
        "/openapi.json",
    ],
)
def test_there_is_nothing_at_other_addresses(client, path):
    assert client.refused(404, client.get(path)) == (
        "there is nothing at this address; expected /, /api/models or /api/look"
    )


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/look"),
        ("PUT", "/api/look"),
        ("OPTIONS", "/api/look"),
        ("POST", "/api/models"),
        ("POST", "/"),
        ("TRACE", "/"),
    ],
)
def test_other_methods(client, method, path):
    sentence = client.refused(405, client.ask(method, path))
    assert sentence == "this address takes another method; the page uses GET, and POST for /api/look"


def test_head_has_the_headers_alone(client):
    status, headers, body = client.ask("HEAD", "/api/models")
    assert (status, body) == (200, b"")
    assert int(headers["content-length"]) > 20
    assert client.ask("HEAD", f"/?token={TOKEN}", token=False)[0] == 200
    assert client.ask("HEAD", "/?token=wrong", token=False)[0] == 403


def test_the_models_are_told(client):
    told = json.loads(client.get("/api/models")[2])
    assert told == {
        "models": [{"name": "tiny-bert", "state": "ready", "message": "", "decoder": False, "writes": False}]
    }
