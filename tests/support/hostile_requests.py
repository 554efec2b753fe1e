"""Requests that no browser sends, and the status that each must get; `make fuzz` changes their bytes."""

from collections.abc import Iterator

from support.explorer import TOKEN
from support.hostile_bodies import LOOK, bodies, framings, layers
from support.http_bytes import Request, plain, post, raw, request

FORBIDDEN, NOT_FOUND, BAD, OTHER_METHOD = (403,), (404,), (400,), (405,)
HEADS = (400, 431)
"""Of a head too large: 400 where it was not read to its end, and nobody knows where the next request begins."""


def requests() -> Iterator[Request]:
    """All of them."""
    for part in (lines, targets, hosts, tokens, methods, heads, framings, bodies, layers):
        for name, content, status in part():
            yield Request(f"{part.__name__}-{name}", content, status)


def lines():
    """First lines that are none."""
    garbage = {
        "nul": b"\x00\x01\x02\r\n\r\n",
        "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        "ssh": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
        "http-2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "http-0.9": b"GET /\r\n\r\n",
        "no-target": b"GET  HTTP/1.1\r\n\r\n",
        "no-version": b"GET / \r\n\r\n",
        "version-9": b"GET / HTTP/9.9\r\nHost: x\r\n\r\n",
        "version-text": b"GET / HTTP/one\r\n\r\n",
        "version-long": b"GET / HTTP/1." + b"1" * 4000 + b"\r\n\r\n",
        "response": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "two-spaces": b"GET  / HTTP/1.1\r\nHost: x\r\n\r\n",
        "tab": b"GET\t/\tHTTP/1.1\r\nHost: x\r\n\r\n",
        "utf-8": "GET /é HTTP/1.1\r\nHost: x\r\n\r\n".encode(),
        "utf-16": "GET / HTTP/1.1\r\n\r\n".encode("utf-16") + b"\r\n\r\n",
        "escape-codes": b"\x1b]0;owned\x07\x1b[2J / HTTP/1.1\r\n\r\n",
        "bell-in-target": b"GET /\x07 HTTP/1.1\r\nHost: x\r\n\r\n",
        "method-long": b"G" * 20_000 + b" / HTTP/1.1\r\n\r\n",
        "method-space": b" GET / HTTP/1.1\r\n\r\n",
        "method-slash": b"G/T / HTTP/1.1\r\nHost: x\r\n\r\n",
        "target-100k": b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n",
        "target-1m": b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\n\r\n",
        "no-line-end-20k": b"A" * 20_000,
        "only-spaces": b" " * 20_000,
        "random": bytes((value * 89 + 7) % 256 for value in range(20_000)) + b"\r\n\r\n",
    }
    for name, content in garbage.items():
        yield name, raw(content), (505,) if name in ("http-2", "version-9") else HEADS


def targets():
    """Addresses that lead nowhere."""
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
        yield f"{number}-{plain(target)}", request(f"GET {target} HTTP/1.1"), NOT_FOUND
    for number, query in enumerate(("?" * 5000, "?a=" + "b" * 9000, "?" + "a&" * 4000, "?%ff=%00", "?a=1#b")):
        yield f"models-query-{number}", request(f"GET /api/models{query} HTTP/1.1"), (200,)


def hosts():
    """Names by which the server must not be called."""
    names = (
        "", "evil.example", "evil.example:{port}", "127.0.0.1", "localhost", "127.0.0.1:1", "127.0.0.1:{port}0",
        "127.0.0.1:0{port}", "127.0.0.1:+{port}", "127.0.0.1:{port}.", "127.0.0.1.:{port}", "localhost.:{port}",
        "127.0.0.1:{port}.evil.example", "evil.example#127.0.0.1:{port}", "evil.example@127.0.0.1:{port}",
        "user:pass@localhost:{port}", "[::1]:{port}", "[::ffff:127.0.0.1]:{port}", "::1", "0.0.0.0:{port}",
        "127.1:{port}", "2130706433:{port}", "0x7f.0.0.1:{port}", "017700000001:{port}", "127.0.0.1:{port}/",
        "127.0.0.1:{port},evil.example", "127.0.0.1:{port} evil.example", "lоcalhost:{port}".encode().decode("latin-1"),
        "ｌocalhost:{port}".encode().decode("latin-1"), "localhost:{port}\t x", "l" * 9000, "127.0.0.1:" + "9" * 5000,
    )  # fmt: skip
    for number, name in enumerate(names):
        for target in ("/api/models", f"/?token={TOKEN}"):
            where = "api" if "api" in target else "page"
            yield f"{where}-{number}-{plain(name)}", request(f"GET {target} HTTP/1.1", host=name), FORBIDDEN
    yield "none", request(host=None), BAD
    yield "none-1.0", request("GET /api/models HTTP/1.0", host=None), FORBIDDEN
    yield "twice", request("GET /api/models HTTP/1.1", "Host: evil.example"), BAD
    yield "absolute", request("GET http://127.0.0.1/api/models HTTP/1.1", host="evil.example"), FORBIDDEN
    yield "upper", request(host="LOCALHOST:{port}"), (200,)
    yield "forwarded", request("GET /api/models HTTP/1.1", "X-Forwarded-Host: evil.example"), (200,)
    origins = ("http://evil.example", "null", "", "https://127.0.0.1", "http://127.0.0.1.evil.example", "\xff" * 999)
    for number, origin in enumerate(origins):
        yield f"origin-{number}", post(b"{}", f"Origin: {origin}"), FORBIDDEN


def tokens():
    """Tokens that are wrong, and ways to bring one that do not count."""
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
        "twice": request("GET /api/models HTTP/1.1", f"X-Headscope-Token: {TOKEN}"),
        "right-then-wrong": request("GET /api/models HTTP/1.1", "X-Headscope-Token: a"),
        "query-twice": request(f"GET /?token={TOKEN}&token={TOKEN} HTTP/1.1", token=None),
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
    """Methods that an address does not take."""
    names = ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "PROPFIND", "M-SEARCH", "X" * 300)
    for method in names:
        for path in ("/", "/api/models", "/api/look", f"/api/look/{LOOK}/layer"):
            yield f"{method[:9]}-{path.strip('/')[:9]}", request(f"{method} {path} HTTP/1.1"), OTHER_METHOD
    yield "GET-look", request("GET /api/look HTTP/1.1"), OTHER_METHOD
    yield "POST-models", post(b"{}", path="/api/models"), OTHER_METHOD
    yield "POST-page", post(b"{}", path="/"), OTHER_METHOD
    yield "CONNECT", request("CONNECT evil.example:443 HTTP/1.1"), (404, 405)
    yield "OPTIONS-star", request("OPTIONS * HTTP/1.1"), (404, 405)
    yield "HEAD", request("HEAD /api/models HTTP/1.1"), (200,)
    yield "HEAD-no-token", request("HEAD /api/models HTTP/1.1", token=None), FORBIDDEN


def heads():
    """Headers that are too many, too long or none."""
    get = "GET /api/models HTTP/1.1"
    yield "one-of-100k", request(get, "X-A: " + "a" * 100_000), HEADS
    yield "one-of-15k", request(get, "X-A: " + "a" * 15_000), (200,)
    yield "name-of-100k", request(get, "a" * 100_000 + ": b"), HEADS
    yield "10000", request(get, *[f"X-{number}: a" for number in range(10_000)]), HEADS
    yield "101", request(get, *["A: b"] * 101), HEADS
    yield "90", request(get, *["A: b"] * 90), (200,)
    yield "folded", request(get, "X-A: a", *[" b"] * 500), (200,)
    yield "folded-50k", request(get, "X-A: a", *[" b"] * 50_000), HEADS
    wrong = ("no colon", ": no name", "Na me: a", "Name : a", "N\x00: a", "N: a\x00b", "N: a\rb", "N: a\nb c",
             "N: \x1b[2J", "N\xff: a", "(): a", " first: folded")  # fmt: skip
    for number, header in enumerate(wrong):
        yield f"wrong-{number}", request(get, header, host=None), BAD
    odd = {
        "upgrade-websocket": ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                              "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="),
        "upgrade-h2c": ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"),
        "range": ("Range: bytes=" + ",".join(f"{n}-" for n in range(1500)),),
        "accept": ("Accept: " + "a/b," * 3000,),
        "encoding": ("Accept-Encoding: gzip, br, x" + "," * 3000,),
        "cookie": ("Cookie: " + "a=b; " * 2000,),
        "if-none-match": ("If-None-Match: *", "If-Modified-Since: never"),
        "method-override": ("X-HTTP-Method-Override: DELETE",),
        "original-url": ("X-Original-URL: /admin", "X-Rewrite-URL: /admin"),
        "forwarded": ("X-Forwarded-For: " + "1.1.1.1, " * 900, "X-Forwarded-Proto: javascript"),
        "connection": ("Connection: " + "close, keep-alive, " * 500,),
        "language": ("Accept-Language: \xff\xfe",),
    }  # fmt: skip
    for name, headers in odd.items():
        yield name, request(get, *headers), (200,)
        yield f"{name}-no-token", request(get, *headers, token=None), FORBIDDEN
