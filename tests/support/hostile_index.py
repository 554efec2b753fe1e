"""Index files of saved maps that are damaged or malicious; each generator yields `Case`s."""

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from support.hostile import Case
from support.maps_folders import SHARD, copied, edited

DAMAGED = "index.json is damaged ("


def _set(value: Any, *path: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        content[path[-1]] = value

    return change


def _drop(*path: Any) -> Callable[[dict[str, Any]], None]:
    def change(content: Any) -> None:
        for step in path[:-1]:
            content = content[step]
        del content[path[-1]]

    return change


ODD = {
    "null": None,
    "true": True,
    "7": 7,
    "huge": 10**30,
    "negative": -7,
    "half": 0.5,
    "text": "text\x1b[2J",
    "texts": ["x", "y"],
    "numbers": [7, 8],
    "lists": [[[]]],
    "object": {"x\u202e": 7},
}
HEAD = ("model", "special", "layout", "store", "word_level", "signature", "shards", "masks", "entries")
ENTRY = (
    *("document", "index", "input", "decoder", "token_types", "words", "shortened", "fields"),
    *("shard", "name", "masks"),
)
TOKENS = ("tokens", "ids", "classes", "word_ids")
# Unusual values that are valid: unknown models, other segment numbers, further fields.
TAKEN = {
    *(("model", "object"), ("signature", "object"), ("word_level", "null")),
    *(("entries.0.index", "7"), ("entries.0.decoder", "null"), ("entries.0.fields", "object")),
    *(("entries.0.shortened", "true"), ("entries.0.words", "texts")),
}


# Values that are valid in an index, but contradict these files.
LATER = {
    ("shards.0.bytes", "7"): "bytes, expected 7; copy the whole folder again",
    ("layout.0.layers", "7"): "of shape [2, 2, 5, 5], expected F16 of shape [7, 2, 5, 5]",
    ("layout.0.heads", "7"): "of shape [2, 2, 5, 5], expected F16 of shape [2, 7, 5, 5]",
}


def index_parts() -> Iterator[Case]:
    """Yield indexes in which one part has each wrong type, or is missing."""
    places: list[tuple[Any, ...]] = [(name,) for name in HEAD]
    places += [("layout", 0, name) for name in ("kind", "layers", "heads")]
    places += [("shards", 0, name) for name in ("file", "bytes", "hash")]
    places += [("entries", 0, name) for name in ENTRY]
    places += [("entries", 0, "input", name) for name in TOKENS]
    for path in places:
        where = ".".join(map(str, path))
        for name, value in ODD.items():
            says = None if (where, name) in TAKEN else LATER.get((where, name), DAMAGED)
            yield Case(f"{where} is {name}", partial(edited, _set(value, *path)), says)
        yield Case(f"{where} is left out", partial(edited, _drop(*path)), f"lacks '{path[-1]}'")


def index_values() -> Iterator[Case]:
    """Yield values of the right type that are impossible."""
    absurd = {"a billion": 10**9, "none": 0, "negative": -1, "a half": 1.5, "as text": "2", "1e400": float("inf")}
    for name, value in absurd.items():
        for part in ("layers", "heads"):
            yield Case(f"{part} {name}", partial(edited, _set(value, "layout", 0, part)), DAMAGED)
    for part in ("layers", "heads"):
        yield Case(f"{part} other than stored", partial(edited, _set(3, "layout", 0, part)), "of shape")
    for part in TOKENS:
        for name, value in {
            "null": None,
            "huge": 1 << 40,
            "negative": -2,
            "a text": "7",
            "a half": 0.5,
            "true": True,
            "a list": [],
        }.items():
            if (part, name) != ("tokens", "a text"):
                change = _set(value, "entries", 1, "input", part, 2)
                yield Case(f"one of the {part} is {name}", partial(edited, change), "entry 2, input, " + part)
        change = _set([], "entries", 0, "input", part)
        yield Case(f"{part} without content", partial(edited, change), "has lists of different length")
    lone = {"tokens": ("input", "tokens", 1), "words": ("words", 1)}
    for name, path in lone.items():
        change = _set("\ud800", "entries", 0, *path)
        yield Case(
            f"half a character in {name}",
            partial(edited, change),
            "expected a text of whole characters, found the text",
        )
    changes = {
        "a word id beyond the words": (_set(2, "entries", 0, "input", "word_ids", 3), "from -1 to 1, found 2"),
        "a class that there is not": (_set(5, "entries", 0, "input", "classes", 0), "from 0 to 4, found 5"),
        "no words and a huge word id": (_words_unknown, "from -1 to 1,048,575, found 1,000,000,000"),
        "more token types than tokens": (
            _set([0] * 6, "entries", 0, "token_types"),
            "entry 1 has lists of different length",
        ),
        "two kinds of one name": (_twice("layout"), "expected each kind of attention once, found encoder, encoder"),
        "no kind": (_set([], "layout"), "expected each kind of attention once, found none"),
        "cross attention alone": (_set("cross", "layout", 0, "kind"), "beside an encoder and a decoder, found cross"),
        "a kind that is not stored": (_set("decoder", "layout", 0, "kind"), "decoder maps of segment 1"),
        "no entries": (_set([], "entries"), "expected at least one segment, found none"),
        "a segment twice": (_twice("entries"), "expected each segment once, found 0 of document a 2 times"),
        "two segments, one map": (_set("1", "entries", 1, "name"), "expected each name of maps once, found 1 of shard"),
        "a name that is not stored": (_set("9", "entries", 1, "name"), "are missing (tensor 9.encoder of maps-"),
        "a shard out of range": (_set(1, "entries", 1, "shard"), "entry 2, shard: expected a whole number from 0 to 0"),
        "no shards": (_set([], "shards"), "entry 1, shard: expected a whole number"),
        "a shard twice": (_twice("shards"), f"expected each file of the shards once, found {SHARD} 2 times"),
        "tokens of a decoder that is not there": (_decoder, "expected tokens of a decoder beside those of an encoder"),
        "a part more": (_set(1, "entries", 0, "more"), "found the text 'more' too"),
        "a store of 8 bits": (_set("int8", "store"), "expected one of float16, float32, found the text 'int8'"),
        "another store": (_set("float32", "store"), "are F16 of shape [2, 2, 5, 5], expected F32 of shape"),
        "other words": (_set("average", "word_level"), "expected one of mean, first, max, found"),
        "by word, and stored by token": (_set("mean", "word_level"), "expected F16 of shape [2, 2, 4, 4]"),
        "fields in fields": (_set(_nested(200), "entries", 0, "fields"), "nested more than 72 deep"),
        "a signature in a signature": (_set(_nested(200), "signature"), "nested more than 72 deep"),
        "a corpus of a list": (_set({"treebank": [1]}, "signature", "corpus"), "the signature's corpus"),
        "options that are a text": (_set("x", "signature", "options"), "options: expected an object"),
        "a model without a name": (_set(None, "model", "name"), "the model's name: expected a text of whole"),
        "a document with an escape": (_set("a\x1b]0;x\x07", "entries", 0, "document"), "printable characters"),
        "a document of a mile": (_set("a" * 10**6, "entries", 0, "document"), "printable characters"),
        "an index of another format": (_set("x", "format"), "is not an index of saved maps"),
        "a version to come": (_set(2, "version"), "has version 2 of saved maps, expected version 1"),
        "a version with an escape": (_set("\x1b[2J", "version"), "expected version 1"),
    }  # fmt: skip
    for name, (change, says) in changes.items():
        yield Case(name, partial(edited, change), says)
    for file in ("../x", "/etc/passwd", "..", ".", "", "a/b", "a\\b", "a\x00b", "~", "x" * 300, "\u202ex", "-x"):
        yield Case(
            f"a shard at {file[:12]!r}",
            partial(edited, _set(file, "shards", 0, "file")),
            "shards, file: expected the name of a file in the folder",
        )


def _words_unknown(content: dict[str, Any]) -> None:
    content["entries"][0]["words"] = []
    content["entries"][0]["input"]["word_ids"][3] = 10**9


def _twice(part: str) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        content[part].append(content[part][0])

    return change


def _decoder(content: dict[str, Any]) -> None:
    content["entries"][0]["decoder"] = content["entries"][0]["input"]


def _nested(depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(depth):
        found = {"x": [found]}
    return found


def index_files() -> Iterator[Case]:
    """Yield files in the index's place that are not an index."""

    def put(content: bytes, folder: Path) -> Path:
        place = copied(folder / "maps")
        (place / "index.json").write_bytes(content)
        return place

    start = b'{"format": "headscope maps", "version": 1, '
    contents = {
        "nothing": b"",
        "no JSON": b"\x1b[2Jno JSON",
        "zeros": bytes(1000),
        "a number of 5,000 digits": start + b'"layout": ' + b"9" * 5000 + b"}",
        "UTF-16": start.decode().encode("utf-16"),
        "Latin-1": start + b'"x": "caf\xe9"}',
        "a control character": start + b'"x": "\x07"}',
        "lists in lists": b"[" * 100_000,
        "whole lists in lists": b"[" * 100_000 + b"]" * 100_000,
        "objects in objects": b'{"a":' * 100_000,
        "deep in its fields": start + b'"model": ' + b"[" * 100_000,
    }
    for name, content in contents.items():
        yield Case(f"an index of {name}", partial(put, content), DAMAGED)
    for name, content in {"a list": b"[]", "a number": b"7", "null": b"null", "nothing of ours": b"{}"}.items():
        yield Case(f"an index of {name}", partial(put, content), "is not an index of saved maps")
    for share in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        yield Case(f"an index cut at {share}", partial(_cut_index, share), DAMAGED)
    yield Case("an index of a gigabyte", _huge_index, "it has 1,073,741,824 bytes; expected at most 33,554,432")
    yield Case("a folder for an index", _folder_for_index, "it is a folder; expected a regular file")
    yield Case("a pipe for an index", _pipe_for_index, "it is a FIFO; expected a regular file")


def _cut_index(share: float, folder: Path) -> Path:
    place = copied(folder / "maps")
    content = (place / "index.json").read_bytes()
    (place / "index.json").write_bytes(content[: int(share * len(content))])
    return place


def _huge_index(folder: Path) -> Path:
    place = copied(folder / "maps")
    with (place / "index.json").open("r+b") as file:
        file.truncate(1 << 30)  # the file is sparse
    return place


def _folder_for_index(folder: Path) -> Path:
    place = copied(folder / "maps")
    (place / "index.json").unlink()
    (place / "index.json").mkdir()
    return place


def _pipe_for_index(folder: Path) -> Path:
    place = copied(folder / "maps")
    (place / "index.json").unlink()
    os.mkfifo(place / "index.json")
    return place


def masks() -> Iterator[Case]:
    """Yield masks that are out of range or of other sizes or layers."""
    at = ("entries", 1, "masks", "encoder")
    changes = {
        "no masks in the list": (_set([], "masks"), "encoder masks: expected a whole number"),
        "out of range": (_set(1, *at, 0), "encoder masks: expected a whole number from 0 to 0, found 1"),
        "negative": (_set(-1, *at, 0), "encoder masks: expected a whole number"),
        "huge": (_set(10**30, *at, 0), "encoder masks: expected a whole number"),
        "true": (_set(True, *at, 0), "encoder masks: expected a whole number"),
        "a half": (_set(0.5, *at, 0), "encoder masks: expected a whole number"),
        "a text": (_set("0", *at, 0), "encoder masks: expected a whole number"),
        "a list": (_set([0], *at, 0), "encoder masks: expected a whole number"),
        "of one layer": (_set([0], *at), "entry 2: expected 2 encoder masks, one for each layer"),
        "of three layers": (_set([0, 0, 0], *at), "entry 2: expected 2 encoder masks, one for each layer"),
        "no list": (_set(7, *at), "encoder masks: expected a list, found 7"),
        "of a kind that is not there": (_set([0, 0], "entries", 1, "masks", "\x1b[2J"), "expected masks of encoder"),
        "of fewer rows": (
            _set(4, "masks", 0, "rows"), "expected a mask of 5 rows and 5 keys for encoder attention, found one of 4"),
        "of a billion keys": (_set(10**9, "masks", 0, "keys"), "found one of 5 and 1,000,000,000"),
        "of negative rows": (_set(-5, "masks", 0, "rows"), "rows: expected a whole number"),
        "in no shard": (_set(9, "masks", 0, "shard"), "mask.1, shard: expected a whole number"),
        "of no name": (_set(None, "masks", 0, "name"), "masks, name: expected a text"),
        "not stored": (_set("mask.9", "masks", 0, "name"), "mask.9 is missing, expected U8 of shape [4]"),
        "that is maps": (_set("1.encoder", "masks", 0, "name"), "1.encoder is F16 of shape [2, 2, 5, 5]"),
    }  # fmt: skip
    for name, (change, says) in changes.items():
        yield Case(f"a mask {name}", partial(edited, change, masked=True), says)
    yield Case("masks left out", partial(edited, _set({}, "entries", 1, "masks"), masked=True), None)


def trees() -> Iterator[Case]:
    """Yield fields heads and relns that are not a tree, for `syntax`, the only reader of them."""
    for part in ("heads", "relns"):
        for name, value in ODD.items():
            says = None if (part, name) in {("heads", "numbers"), ("relns", "texts")} else "document a"
            yield Case(f"{part} is {name}", partial(edited, _set(value, "entries", 0, "fields", part)), says)
        change = _drop("entries", 0, "fields", part)
        yield Case(f"{part} is left out", partial(edited, change), "segment 1 of document a of these maps has no tree")
    yield Case("a head as text", partial(edited, _set("2", "entries", 0, "fields", "heads", 0)), "whole numbers")
    yield Case("a relation that is half", partial(edited, _set("\ud800", "entries", 0, "fields", "relns", 0)), "names")
    yield Case("too few heads", partial(edited, _set([], "entries", 0, "fields", "heads")), "found 0 heads and 2")
