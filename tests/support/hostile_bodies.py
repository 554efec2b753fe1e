"""Bodies that no page sends, lengths that are told wrongly, and layers that are not there."""

import json

from support.http_bytes import plain, post, request

LOOK = "0" * 32
"""An id that looks like one and is none."""

FORBIDDEN, NOT_FOUND, BAD, LARGE = (403,), (404,), (400,), (413,)


def framings():
    """Bodies whose length is told wrongly, twice or in another way."""
    line, chunked = "POST /api/look HTTP/1.1", "Transfer-Encoding: chunked"
    body = b'{"model": "stub", "text": "a"}'
    in_chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    lengths = (
        "-1",
        "+5",
        "x",
        "",
        "1.5",
        "0x5",
        "5 5",
        "5, 6",
        "9" * 30,
        "\xb2",
        "1e3",
        "٣".encode().decode("latin-1"),
    )
    for number, length in enumerate(lengths):
        yield f"length-{number}", request(line, f"Content-Length: {length}", body=body), (400, 413)
    yield "length-twice", request(line, "Content-Length: 2", f"Content-Length: {len(body)}", body=body), BAD
    yield "length-twice-same", request(line, *[f"Content-Length: {len(body)}"] * 2, body=body), (200,)
    yield "length-none", request(line, "Content-Length: 0"), BAD
    yield "length-zeros", request(line, "Content-Length: " + "0" * 9 + str(len(body)), body=body), (200,)
    yield "length-over", request(line, "Content-Length: 65537"), LARGE
    yield "length-huge", request(line, "Content-Length: 99999999999999999999"), (400, 413)
    yield "none", request(line), BAD
    for name, more in {"both": "Content-Length: 5", "both-right": f"Content-Length: {len(in_chunks)}"}.items():
        yield name, request(line, more, chunked, body=in_chunks), BAD
        yield f"{name}-reversed", request(line, chunked, more, body=in_chunks), BAD
    encodings = ("gzip", "chunked, chunked", "gzip, chunked", "x", "identity", "", "chunked;q=1", "\x0bchunked")
    for number, encoding in enumerate(encodings):
        content = request(line, f"Transfer-Encoding: {encoding}", body=in_chunks)
        yield f"encoding-{number}", content, (400, 501)
    chunks = {
        "no-number": b"x\r\n{}\r\n0\r\n\r\n",
        "negative": b"-2\r\n{}\r\n0\r\n\r\n",
        "huge": b"f" * 40 + b"\r\n{}",
        "wrong-end": b"2\r\n{}xx0\r\n\r\n",
        "spaces": b" 2 \r\n{}\r\n0\r\n\r\n",
        "long-extension": b"2;" + b"a" * 30_000 + b"\r\n{}\r\n0\r\n\r\n",
        "trailers": b"2\r\n{}\r\n0\r\n" + b"A: b\r\n" * 9000 + b"\r\n",
        "trailer-host": b"2\r\n{}\r\n0\r\nHost: evil.example\r\n\r\n",
        "fine": b"1\r\n{\r\n1\r\n}\r\n0\r\n\r\n",
    }
    for name, content in chunks.items():
        yield f"chunk-{name}", request(line, chunked, body=content), BAD
    yield "chunks-over", request(line, chunked, body=(b"fff\r\n" + b" " * 4095 + b"\r\n") * 20), LARGE
    many = b"".join(b"1\r\n \r\n" for _ in range(70_000))
    yield "chunks", request(line, chunked, body=in_chunks), (200,)
    yield "chunks-of-1-over", request(line, chunked, body=many), LARGE
    yield "expect", request(line, "Expect: 100-continue", "Content-Length: 2", body=b"{}"), BAD
    yield "expect-no-token", request(line, "Expect: 100-continue", "Content-Length: 9", token=None), FORBIDDEN
    yield "expect-nonsense", request(line, "Expect: 100-continue", chunked, body=b"x\r\n" * 9), BAD
    yield "expect-over", request(line, "Expect: 100-continue", "Content-Length: 99999999"), LARGE
    yield "expect-other", request(line, "Expect: coffee", "Content-Length: 2", body=b"{}"), (400, 417)
    yield "get-with-body", request("GET /api/models HTTP/1.1", "Content-Length: 9", body=b"{" * 9), (200,)
    yield "get-with-large-body", request("GET /api/models HTTP/1.1", "Content-Length: 70000"), LARGE


def bodies():
    """Bodies that are no look to be taken."""
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
    yield "model-long", post(json.dumps({"model": "a" * 1001, "text": "a"}).encode()), LARGE
    texts = ("", "\0", "\ud800", "\u202e\u200b", "\U0010ffff" * 999, "</script>", "\x1b[2J", "a" * 20_000, "é" * 9000)
    for number, text in enumerate(texts):
        yield f"any-text-{number}", post(json.dumps({"model": "stub", "text": text}).encode()), (200,)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "x" * 900, ""):
        body = b'{"model": "stub", "text": "a"}'
        yield f"kind-{plain(kind)}", post(body, f"Content-Type: {kind}"), (200,)
    yield "over", post(b" " * 65_537), LARGE
    yield "over-1m", post(b" " * 1_000_000), LARGE


def layers():
    """Layers that are not there, of looks that are or are not; `KEPT` stands for one that is."""
    for part in ("layer", "neuron"):
        for number, name in enumerate(
            ("0", "G" * 32, "A" * 32, "0" * 33, "%00", "..", "٣" * 32, "%0a" + LOOK, LOOK + "%0a")
        ):
            name = "".join(character if character.isascii() else "%D9%A3" for character in name)
            yield f"{part}-id-{number}", request(f"GET /api/look/{name}/{part} HTTP/1.1"), NOT_FOUND
        yield f"{part}-gone", request(f"GET /api/look/{LOOK}/{part}?kind=encoder&layer=1 HTTP/1.1"), (410,)
        queries = ("", "kind=encoder", "layer=1", "kind=&layer=1", "kind=Encoder&layer=1", "kind=encoder&layer=",
                   "kind=encoder&layer=0", "kind=encoder&layer=-1", "kind=encoder&layer=2", "kind=encoder&layer=1.0",
                   "kind=encoder&layer=%2b1", "kind=encoder&layer=1e0", "kind=encoder&layer=0x1",
                   "kind=encoder&layer=%D9%A1",
                   "kind=encoder&layer=" + "9" * 5000, "kind=encoder&layer=1%00", "kind=encoder&layer=%201",
                   "kind=__class__&layer=1", "kind=encoder%00&layer=1", "kind=%ff&layer=%fe", "kind=encoder;layer=1",
                   "kind=encoder&layer=1&layer=99", "kind=encoder&kind=x&layer=1",
                   "kind[]=encoder&layer[]=1")  # fmt: skip
        for number, query in enumerate(queries):
            yield f"{part}-query-{number}", request(f"GET /api/look/KEPT/{part}?{query} HTTP/1.1"), NOT_FOUND
    yield "layer-many-fields", request("GET /api/look/KEPT/layer?" + "a=1&" * 3500 + " HTTP/1.1"), NOT_FOUND
