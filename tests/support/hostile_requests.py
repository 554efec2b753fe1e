"""Requests that no browser sends, with the status that each must get; `make fuzz` mutates their bytes."""

from collections.abc import Iterator

from support.explorer import TOKEN
from support.hostile_bodies import LOOK, bodies, framings, layers
from support.http_bytes import Request, plain, post, request

FORBIDDEN, NOT_FOUND, BAD, OTHER_METHOD = (403,), (404,), (400,), (405,)


def requests() -> Iterator[Request]:
    """Yield the requests of all generators."""
    for part in (targets, hosts, tokens, methods, framings, bodies, layers):
        for name, content, status in part():
            yield Request(f"{part.__name__}-{name}", content, status)


def targets():
    """Yield addresses that do not exist."""
    nowhere = (
        ".", "..", "/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..\\..\\windows",
        "/....//....//etc/passwd", "/%252e%252e/etc/passwd", "/%c0%ae%c0%ae/etc/passwd", "/%00", "/%0d%0aSet-Cookie:a",
        "//api/models", "/api//models", "/API/MODELS", "/api/models/", "/api/models;x", "/api/models%00",
        "/api/models%2f..", "/./api/models", "/api/../api/models", "/api/look/%2e%2e/models", "/api/look/" + "a" * 9000,
        "/" + "a/" * 4000, "/" + "%41" * 3000, "/%ff%fe", "/%zz", "/%", "/%u0041", "*", "http://evil.example/",
        "http://evil.example/api/models", "file:///etc/passwd", "/\u007f".encode().decode("ascii").replace("\x7f", "~"),
        "/api/look/{0}/layer", "/$(id)", "/`id`", "/'OR'1'='1", "/<script>alert(1)</script>", "/%F0%9F%92%A9", "/\\",
        "/static/dom.js", "/.git/config", "/docs", "/openapi.json", "/favicon.ico", "api/models", "?", "#",
    )  # fmt: skip
    for number, target in enumerate(nowhere):
        yield (
            f"{number}-{plain(target)}",
            request(f"GET {target} HTTP/1.1"),
            (404, 410) if "{0}" in target else NOT_FOUND,
        )
    for number, query in enumerate(("?" * 5000, "?a=" + "b" * 9000, "?" + "a&" * 4000, "?%ff=%00", "?a=1#b")):
        yield f"models-query-{number}", request(f"GET /api/models{query} HTTP/1.1"), (200,)


def hosts():
    """Yield host names that the server must refuse."""
    names = (
        "", "evil.example", "evil.example:{port}", "127.0.0.1.:{port}", "localhost.:{port}",
        "127.0.0.1.evil.example:{port}", "evil.example#127.0.0.1:{port}", "evil.example@127.0.0.1:{port}",
        "user:pass@localhost:{port}", "[::1]:{port}", "[::ffff:127.0.0.1]:{port}", "::1", "0.0.0.0:{port}",
        "127.1:{port}", "2130706433:{port}", "0x7f.0.0.1:{port}", "017700000001:{port}",
        "lоcalhost:{port}".encode().decode("latin-1"), "ｌocalhost:{port}".encode().decode("latin-1"), "l" * 9000,
    )  # fmt: skip
    for number, name in enumerate(names):
        for target in ("/api/models", f"/?token={TOKEN}"):
            where = "api" if "api" in target else "page"
            yield f"{where}-{number}-{plain(name)}", request(f"GET {target} HTTP/1.1", host=name), BAD
    yield "none", request(host=None), BAD
    yield "none-1.0", request("GET /api/models HTTP/1.0", host=None), BAD
    yield "twice", request("GET /api/models HTTP/1.1", "Host: evil.example"), BAD
    yield "absolute", request("GET http://127.0.0.1/api/models HTTP/1.1", host="evil.example"), BAD
    yield "forwarded", request("GET /api/models HTTP/1.1", "X-Forwarded-Host: evil.example"), (200,)
    origins = ("http://evil.example", "null", "", "https://127.0.0.1", "http://127.0.0.1.evil.example", "\xff" * 999)
    for number, origin in enumerate(origins):
        yield f"origin-{number}", post(b"{}", f"Origin: {origin}"), FORBIDDEN


def tokens():
    """Yield wrong tokens, and ways of sending a token that do not count."""
    wrong = ("", " ", "a", TOKEN[:-1], TOKEN + "a", TOKEN.upper(), f'"{TOKEN}"', f"Bearer {TOKEN}", "\xff" * 99,
             "a" * 12_000, f"{TOKEN},{TOKEN}", "null", "%00",
             TOKEN.replace("a", "а".encode().decode("latin-1")))  # fmt: skip
    for number, token in enumerate(wrong):
        for target in ("/api/models", "/", "/nothing"):
            where = target.strip("/").replace("/", "-") or "page"
            yield f"{number}-{where}", request(f"GET {target} HTTP/1.1", token=token), FORBIDDEN
    ways = {
        "query-of-api": request(f"GET /api/models?token={TOKEN} HTTP/1.1", token=None),
        "cookie": request("GET /api/models HTTP/1.1", f"Cookie: token={TOKEN}", token=None),
        "authorization": request("GET /api/models HTTP/1.1", f"Authorization: Bearer {TOKEN}", token=None),
        "query-many": request("GET /?" + "token=a&" * 1500 + " HTTP/1.1", token=None),
        "query-no-utf-8": request("GET /?token=%ff%fe HTTP/1.1", token=None),
        "query-surrogate": request("GET /?token=%ed%a0%80 HTTP/1.1", token=None),
        "query-semicolon": request(f"GET /?a;token={TOKEN} HTTP/1.1", token=None),
        "fragment": request(f"GET /#token={TOKEN} HTTP/1.1", token=None),
        "underscores": request("GET /api/models HTTP/1.1", f"X_Headscope_Token: {TOKEN}", token=None),
    }
    for name, content in ways.items():
        yield name, content, FORBIDDEN if name != "fragment" else (403, 404)


def methods():
    """Yield methods that an address does not accept."""
    names = ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "PROPFIND", "M-SEARCH", "X" * 300)
    for method in names:
        for path in ("/", "/api/models", "/api/look", f"/api/look/{LOOK}/layer"):
            yield f"{method[:9]}-{path.strip('/')[:9]}", request(f"{method} {path} HTTP/1.1"), OTHER_METHOD
    yield "GET-look", request("GET /api/look HTTP/1.1"), OTHER_METHOD
    yield "POST-models", post(b"{}", path="/api/models"), OTHER_METHOD
    yield "POST-page", post(b"{}", path="/"), OTHER_METHOD
    yield "CONNECT", request("CONNECT evil.example:443 HTTP/1.1"), (404, 405)
    yield "OPTIONS-star", request("OPTIONS * HTTP/1.1"), (404, 405)
