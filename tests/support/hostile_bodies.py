"""Request bodies that no page sends, and requests for layers that do not exist."""

import json

from support.http_bytes import plain, post, raw, request

LOOK = "0" * 32
"""An id that looks like one and is none."""

FORBIDDEN, NOT_FOUND, BAD, LARGE = (403,), (404,), (400,), (413,)


def framings():
    """Yield chunked bodies and lengths over the limit."""
    line, chunked = "POST /api/look HTTP/1.1", "Transfer-Encoding: chunked"
    body = b'{"model": "stub", "text": "a"}'
    yield "chunks", request(line, chunked, body=b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)), (200,)
    yield "chunks-over", request(line, chunked, body=(b"fff\r\n" + b" " * 4095 + b"\r\n") * 20), LARGE
    yield "chunks-of-1-over", request(line, chunked, body=b"1\r\n \r\n" * 70_000), LARGE
    yield "chunks-broken", request(line, chunked, body=b"x\r\n{}\r\n0\r\n\r\n"), BAD
    yield "length-none", request(line, "Content-Length: 0"), BAD
    yield "none", request(line), BAD
    yield "expect", request(line, "Expect: 100-continue", "Content-Length: 2", body=b"{}"), BAD
    yield "expect-no-token", request(line, "Expect: 100-continue", "Content-Length: 9", token=None), FORBIDDEN
    yield "head-of-1m", request("GET /api/models HTTP/1.1", "X-A: " + "a" * 1_000_000), BAD
    yield "no-request", raw(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"), BAD


def bodies():
    """Yield bodies that are not a valid request to look at a text."""
    wrong = {
        "empty": b"", "space": b" ", "open": b"{", "text": b"look", "latin-1": b'{"model": "\xe9"}', "nul": b"\0" * 9,
        "utf-16": '{"model": "stub"}'.encode("utf-16"), "bom": b'\xef\xbb\xbf{"model": "stub", "text": "a"}',
        "nan": b'{"model": NaN}', "infinity": b'{"generate": -Infinity}', "list": b"[]", "string": b'"stub"',
        "number": b"1", "true": b"true", "null": b"null", "long-number": b"1" * 60_000, "exponent": b"1e999999999",
        "deep-lists": b"[" * 60_000, "deep-objects": b'{"a":' * 10_000, "deep-closed": b"[" * 30_000 + b"]" * 30_000,
        "deep-in-text": b'{"model": "stub", "text": ' + b"[" * 900 + b"]" * 900 + b"}",
        "many-keys": json.dumps({f"k{number}": 0 for number in range(4000)}).encode(),
        "twice": b'{"model": "stub", "model": 3, "text": "a"}', "trailing": b'{"model": "stub", "text": "a"} {}',
        "single-quotes": b"{'model': 'stub'}", "comment": b'{"model": "stub" /* */, "text": "a"}',
        "form": b"model=stub&text=a", "xml": b"<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>",
        "pickle": b"\x80\x04\x95\x1a\x00\x00\x00\x8c\x05posix\x8c\x06system\x93",
        "gzip": b"\x1f\x8b\x08\x00" + b"\0" * 99,
        "key-empty": b'{"": 1}', "key-escape": b'{"\\u001b[2J\\u0007": 1}', "key-surrogate": b'{"\\ud800": 1}',
        "key-long": b'{"' + b"k" * 60_000 + b'": 1}', "key-proto": b'{"__proto__": {}, "constructor": 1}',
        "key-rtl": '{"\u202egpj.exe": 1}'.encode(), "control": b'{"text": "\x07"}',
    }  # fmt: skip
    for name, body in wrong.items():
        yield name, post(body), BAD
    values = (None, True, 0, -1, 1.5, 10**30, 1e308, [], {}, [[]], {"text": "a"}, "")
    for field in ("model", "text", "text_b", "decoder_text", "generate"):
        for number, value in enumerate(values):
            fine = value is None and field in ("text_b", "decoder_text")
            fine = fine or (isinstance(value, str) and field != "generate")
            if not fine and not (field == "generate" and value == 0 and not isinstance(value, bool)):
                told = {"model": "stub", "text": "a", field: value}
                yield f"{field}-{number}", post(json.dumps(told).encode()), BAD
    for field in ("text", "text_b", "decoder_text"):
        told = {"model": "stub", "text": "a", field: "a" * 20_001}
        yield f"{field}-long", post(json.dumps(told).encode()), LARGE
    for number, model in enumerate(("", "STUB", "../stub", "stub\0", "\ud800", "a" * 999, "org/model", "\x1b[2J")):
        yield f"no-model-{number}", post(json.dumps({"model": model, "text": "a"}).encode()), NOT_FOUND
    yield "model-long", post(json.dumps({"model": "a" * 20_001, "text": "a"}).encode()), LARGE
    texts = ("", "\0", "\ud800", "\u202e\u200b", "\U0010ffff" * 999, "</script>", "\x1b[2J", "a" * 20_000, "é" * 9000)
    for number, text in enumerate(texts):
        yield f"any-text-{number}", post(json.dumps({"model": "stub", "text": text}).encode()), (200,)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x" * 900, ""):
        body = b'{"model": "stub", "text": "a"}'
        yield f"kind-{plain(kind)}", post(body, f"Content-Type: {kind}"), (200,)
    yield "over", post(b" " * 65_537), LARGE
    yield "over-1m", post(b" " * 1_000_000), LARGE


def layers():
    """Yield requests for absent layers, of looks that exist or not; `KEPT` is replaced by the id of one that exists."""
    for part in ("layer", "neuron"):
        for number, name in enumerate(
            ("0", "G" * 32, "A" * 32, "0" * 33, "%00", "..", "٣" * 32, "%0a" + LOOK, LOOK + "%0a")
        ):
            name = "".join(character if character.isascii() else "%D9%A3" for character in name)
            yield f"{part}-id-{number}", request(f"GET /api/look/{name}/{part} HTTP/1.1"), (404, 410)
        yield f"{part}-gone", request(f"GET /api/look/{LOOK}/{part}?kind=encoder&layer=1 HTTP/1.1"), (410,)
        queries = ("", "kind=encoder", "layer=1", "kind=&layer=1", "kind=Encoder&layer=1", "kind=encoder&layer=",
                   "kind=encoder&layer=0", "kind=encoder&layer=-1", "kind=encoder&layer=2", "kind=encoder&layer=1.0",
                   "kind=encoder&layer=%2b1", "kind=encoder&layer=1e0", "kind=encoder&layer=0x1",
                   "kind=encoder&layer=%D9%A1",
                   "kind=encoder&layer=" + "9" * 5000, "kind=encoder&layer=1%00", "kind=encoder&layer=%201",
                   "kind=__class__&layer=1", "kind=encoder%00&layer=1", "kind=%ff&layer=%fe", "kind=encoder;layer=1",
                   "kind=encoder&layer=99&layer=x", "kind=encoder&kind=x&layer=1",
                   "kind[]=encoder&layer[]=1")  # fmt: skip
        for number, query in enumerate(queries):
            yield f"{part}-query-{number}", request(f"GET /api/look/KEPT/{part}?{query} HTTP/1.1"), NOT_FOUND
    yield "layer-many-fields", request("GET /api/look/KEPT/layer?" + "a=1&" * 3500 + " HTTP/1.1"), NOT_FOUND
