"""Folders of saved maps that are damaged or made to do harm; each generator yields `Case`s."""

import json
import os
import struct
from collections.abc import Callable, Iterator
from functools import cache, partial
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from headscope.attention.anatomy import KindLayout
from headscope.attention.maps_folder import MapsFolder
from headscope.attention.maps_index import MapEntry, MapsIndex, Tokens
from support.hostile import Case

SHARD = "maps-00001.safetensors"
WORDS = ["cats", "sleep"]
FIELDS = {"heads": [2, 0], "relns": ["nsubj", "root"]}
FORMS = {
    "encoder": ("encoder",),
    "decoder": ("decoder",),
    "words": ("encoder",),
    "three": ("encoder", "decoder", "cross"),
}
DAMAGED = "index.json is damaged ("


def tokens() -> Tokens:
    return Tokens(
        tokens=["[CLS]", "cat", "##s", "sleep", "[SEP]"],
        ids=[101, 7, 8, 9, 102],
        classes=[1, 0, 0, 0, 2],
        word_ids=[-1, 0, 0, 1, -1],
    )


def weights(kind: str, rows: int) -> np.ndarray:
    """Right maps: two layers of two heads that look at every key they see alike."""
    seen = np.tril(np.ones((rows, rows))) if kind == "decoder" else np.ones((rows, rows))
    return np.broadcast_to(seen / seen.sum(-1, keepdims=True), (2, 2, rows, rows)).copy()


def window(rows: int) -> np.ndarray:
    """A mask that is no default: neighbours only."""
    at = np.arange(rows)
    return np.broadcast_to(abs(at[:, None] - at) <= 1, (2, rows, rows))


def whole(
    folder: Path,
    form: str = "encoder",
    *,
    store: str = "float16",
    change: Callable[[np.ndarray], None] = lambda maps: None,
    masked: bool = False,
) -> Path:
    """Write a right folder of two segments of a treebank; `change` may spoil the last kind's maps of the second."""
    kinds = FORMS[form]
    rows = 4 if form == "words" else 5
    index = MapsIndex(
        model={"name": "tiny", "revision": None, "weights": "w", "family": "bert"},
        special={"cls": "[CLS]", "sep": "[SEP]"},
        layout=tuple(KindLayout(kind, 2, 2) for kind in kinds),
        store=store,
        word_level="mean" if form == "words" else None,
        signature={"id": "x", "corpus": {"hash": "h", "documents": 2}, "options": {}, "tokeniser": "t"},
    )
    with MapsFolder(folder, index) as writer:
        for document in ("a", "b"):
            entry = MapEntry(
                document=document,
                index=0,
                input=tokens(),
                decoder=tokens() if form == "three" else None,
                token_types=[0] * 5,
                words=WORDS,
                fields=FIELDS,
            )
            maps = {kind: weights(kind, rows) for kind in kinds}
            visible = None
            if masked:
                visible = {kinds[-1]: window(rows)}
                maps[kinds[-1]] = window(rows) / window(rows).sum(-1, keepdims=True)
                maps[kinds[-1]] = np.stack([maps[kinds[-1]]] * 2, axis=1)
            if document == "b":
                change(maps[kinds[-1]])
            writer.add(entry, maps, visible)
    return folder


def copied(folder: Path, *, masked: bool = False) -> Path:
    """Write a right folder of an encoder, made once."""
    folder.mkdir()
    for name, content in _files(masked).items():
        (folder / name).write_bytes(content)
    return folder


@cache
def _files(masked: bool) -> dict[str, bytes]:
    with TemporaryDirectory() as made:
        return {path.name: path.read_bytes() for path in whole(Path(made) / "maps", masked=masked).iterdir()}


# --- the index


def edited(change: Callable[[dict[str, Any]], Any], folder: Path, *, masked: bool = False) -> Path:
    """Write a right folder and change what its index says."""
    place = copied(folder / "maps", masked=masked)
    path = place / "index.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return place


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
# What is odd and yet right: unknown models, other numbers of a segment, further fields.
TAKEN = {
    *(("model", "object"), ("signature", "object"), ("word_level", "null")),
    *(("entries.0.index", "7"), ("entries.0.decoder", "null"), ("entries.0.fields", "object")),
    *(("entries.0.shortened", "true"), ("entries.0.words", "texts")),
}


# What an index may say, but not of these files.
LATER = {
    ("shards.0.bytes", "7"): "bytes, expected 7; copy the whole folder again",
    ("layout.0.layers", "7"): "have shape [2, 2, 5, 5], expected [7, 2, 5, 5]",
    ("layout.0.heads", "7"): "have shape [2, 2, 5, 5], expected [2, 7, 5, 5]",
}


def index_parts() -> Iterator[Case]:
    """Every part of an index given as everything that it is not, and left out."""
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
    """Values of the right type that cannot be."""
    absurd = {
        "a billion": 10**9,
        "none": 0,
        "negative": -1,
        "a half": 1.5,
        "as text": "2",
        "1e400": float("inf"),
    }
    for name, value in absurd.items():
        for part in ("layers", "heads"):
            yield Case(f"{part} {name}", partial(edited, _set(value, "layout", 0, part)), DAMAGED)
    for part in ("layers", "heads"):
        yield Case(f"{part} other than stored", partial(edited, _set(3, "layout", 0, part)), "have shape")
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
                yield Case(
                    f"one of the {part} is {name}",
                    partial(edited, change),
                    "segment 1 of document b, " + part,
                )
        change = _set([], "entries", 0, "input", part)
        yield Case(f"{part} without content", partial(edited, change), "has lists of different length")
    lone = {"tokens": ("input", "tokens", 1), "words": ("words", 1)}
    for name, path in lone.items():
        change = _set("\ud800", "entries", 0, *path)
        yield Case(f"half a character in {name}", partial(edited, change), "half of one (a lone surrogate)")
    changes = {
        "a word id beyond the words": (_set(2, "entries", 0, "input", "word_ids", 3), "from -1 to 1, found 2"),
        "a class that there is not": (_set(4, "entries", 0, "input", "classes", 0), "from 0 to 3, found 4"),
        "no words and a huge word id": (_words_unknown, "from -1 to 1,048,575, found 1,000,000,000"),
        "more token types than tokens": (
            _set([0] * 6, "entries", 0, "token_types"),
            "segment 1 of document a has lists of different length",
        ),
        "two kinds of one name": (_twice("layout"), "expected each kind of attention once, found encoder, encoder"),
        "no kind": (_set([], "layout"), "expected each kind of attention once, found none"),
        "cross attention alone": (_set("cross", "layout", 0, "kind"), "beside an encoder and a decoder, found cross"),
        "a kind that is not stored": (_set("decoder", "layout", 0, "kind"), "decoder maps of segment 1"),
        "no entries": (_set([], "entries"), "expected at least one segment, found none"),
        "a segment twice": (_twice("entries"), "segment 1 of document a is there twice"),
        "two segments, one map": (_set("1", "entries", 1, "name"), "two segments have the maps named '1'"),
        "a name that is not stored": (_set("9", "entries", 1, "name"), "are missing (tensor 9.encoder of maps-"),
        "a shard out of range": (_set(1, "entries", 1, "shard"), "segment 1 of document b lies nowhere"),
        "no shards": (_set([], "shards"), "segment 1 of document a lies nowhere"),
        "a shard twice": (_twice("shards"), f"expected each file once, found {SHARD} twice"),
        "tokens of a decoder that is not there": (_decoder, "has tokens of a decoder, and the maps are of encoder"),
        "a part more": (_set(1, "entries", 0, "more"), "found the text 'more' too"),
        "a store of 8 bits": (_set("int8", "store"), "expected one of float16, float32, found the text 'int8'"),
        "another store": (_set("float32", "store"), "are of type F16, expected F32 as the index says"),
        "other words": (_set("average", "word_level"), "expected one of mean, first, max, null"),
        "by word, and stored by token": (_set("mean", "word_level"), "have shape [2, 2, 5, 5], expected [2, 2, 4, 4]"),
        "fields in fields": (_set(_nested(200), "entries", 0, "fields"), "at most 64 objects and lists in one"),
        "a signature in a signature": (_set(_nested(200), "signature"), "at most 64 objects and lists in one"),
        "a corpus of a list": (_set({"treebank": [1]}, "signature", "corpus"), "the signature's corpus"),
        "options that are a text": (_set("x", "signature", "options"), "options: expected an object"),
        "a model without a name": (_set(None, "model", "name"), "the model's name: expected a text, found null"),
        "a document with an escape": (_set("a\x1b]0;x\x07", "entries", 0, "document"), "printable characters"),
        "a document of a mile": (_set("a" * 10**6, "entries", 0, "document"), "printable characters"),
        "an index of another format": (_set("x", "format"), "is not an index of saved maps"),
        "a version to come": (_set(2, "version"), "has version 2 of saved maps, expected version 1"),
        "a version with an escape": (_set("\x1b[2J", "version"), "expected version 1"),
    }  # fmt: skip
    for name, (change, says) in changes.items():
        yield Case(name, partial(edited, change), says)
    for file in (
        "../x",
        "/etc/passwd",
        "..",
        ".",
        "",
        "a/b",
        "a\\b",
        "a\x00b",
        "~",
        "x" * 300,
        "\u202ex",
        "-x",
    ):
        yield Case(
            f"a shard at {file[:12]!r}", partial(edited, _set(file, "shards", 0, "file")), "a shard at "
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
    """Files in the index's place that are no index at all."""

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
    for name, content in {
        "a list": b"[]",
        "a number": b"7",
        "null": b"null",
        "nothing of ours": b"{}",
    }.items():
        yield Case(f"an index of {name}", partial(put, content), "is not an index of saved maps")
    for share in (0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        yield Case(f"an index cut at {share}", partial(_cut_index, share), DAMAGED)
    yield Case("an index of a gigabyte", _huge_index, "expected an index smaller than its maps")
    yield Case("a folder for an index", _folder_for_index, "holds no saved maps")
    yield Case("a pipe for an index", _pipe_for_index, "holds no saved maps")


def _cut_index(share: float, folder: Path) -> Path:
    place = copied(folder / "maps")
    content = (place / "index.json").read_bytes()
    (place / "index.json").write_bytes(content[: int(share * len(content))])
    return place


def _huge_index(folder: Path) -> Path:
    place = copied(folder / "maps")
    with (place / "index.json").open("r+b") as file:
        file.truncate(1 << 30)  # takes no room on the disk
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


# --- masks


def masks() -> Iterator[Case]:
    """Masks out of range, of other sizes, of other layers."""
    at = ("entries", 1, "masks", "encoder")
    changes = {
        "no masks in the list": (_set([], "masks"), "lies nowhere"),
        "out of range": (_set(1, *at, 0), "segment 1 of document b lies nowhere"),
        "negative": (_set(-1, *at, 0), "encoder masks: expected a whole number"),
        "huge": (_set(10**30, *at, 0), "encoder masks: expected a whole number"),
        "true": (_set(True, *at, 0), "encoder masks: expected a whole number"),
        "a half": (_set(0.5, *at, 0), "encoder masks: expected a whole number"),
        "a text": (_set("0", *at, 0), "encoder masks: expected a whole number"),
        "a list": (_set([0], *at, 0), "encoder masks: expected a whole number"),
        "of one layer": (_set([0], *at), "segment 1 of document b lacks masks"),
        "of three layers": (_set([0, 0, 0], *at), "segment 1 of document b lacks masks"),
        "no list": (_set(7, *at), "encoder masks: expected a list, found 7"),
        "of a kind that is not there": (_set([0, 0], "entries", 1, "masks", "\x1b[2J"), "has masks of kind"),
        "of fewer rows": (
            _set(4, "masks", 0, "rows"), "expected a mask of 5 rows and 5 keys for encoder attention, found one of 4"),
        "of a billion keys": (_set(10**9, "masks", 0, "keys"), "found one of 5 and 1,000,000,000"),
        "of negative rows": (_set(-5, "masks", 0, "rows"), "rows: expected a whole number"),
        "in no shard": (_set(9, "masks", 0, "shard"), "mask.1 lies nowhere"),
        "of no name": (_set(None, "masks", 0, "name"), "a mask's name: expected a text"),
        "not stored": (_set("mask.9", "masks", 0, "name"), "mask.9 is missing, expected U8 of shape [4]"),
        "that is maps": (_set("1.encoder", "masks", 0, "name"), "1.encoder is F16 of shape [2, 2, 5, 5]"),
    }  # fmt: skip
    for name, (change, says) in changes.items():
        yield Case(f"a mask {name}", partial(edited, change, masked=True), says)
    yield Case("masks left out", partial(edited, _set({}, "entries", 1, "masks"), masked=True), None)


# --- the files with the weights


def resealed(change: Callable[[bytes], bytes], folder: Path) -> Path:
    """Write a right folder, change a file of it, and let the index name the changed file's size and hash."""
    place = copied(folder / "maps")
    content = change((place / SHARD).read_bytes())
    (place / SHARD).write_bytes(content)
    index = json.loads((place / "index.json").read_text())
    index["shards"][0].update(bytes=len(content), hash=blake2b(content, digest_size=16).hexdigest())
    (place / "index.json").write_text(json.dumps(index))
    return place


def _spoilt(change: Callable[[bytes], bytes], folder: Path) -> Path:
    place = copied(folder / "maps")
    (place / SHARD).write_bytes(change((place / SHARD).read_bytes()))
    return place


def _header(change: Callable[[dict[str, Any]], Any], content: bytes) -> bytes:
    """Change what a safetensors file says of its tensors."""
    size = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + size])
    text = json.dumps(change(header) or header).encode()
    return struct.pack("<Q", len(text)) + text + content[8 + size :]


def shards() -> Iterator[Case]:
    """Files cut off, overwritten, missing, elsewhere; and right ones that hold other tensors."""
    spoils: dict[str, tuple[Callable[[bytes], bytes], str]] = {
        "cut to nothing": (lambda content: b"", "has 0 bytes, expected "),
        "cut in its header": (lambda content: content[:20], "has 20 bytes, expected "),
        "cut at its end": (lambda content: content[:-1], " bytes, expected "),
        "longer": (lambda content: content + b"\0", " bytes, expected "),
        "with a bit turned": (lambda content: content[:-1] + bytes([content[-1] ^ 1]), "its hash differs"),
        "of zeros": (lambda content: bytes(len(content)), "is no whole safetensors file"),
        "of noise": (
            lambda content: np.random.default_rng(0).bytes(len(content)),
            "is no whole safetensors file",
        ),
    }
    for name, (change, says) in spoils.items():
        yield Case(f"a shard {name}", partial(_spoilt, change), says)
    lengths = {
        "0": 0,
        "2**63": 1 << 63,
        "2**64 - 1": (1 << 64) - 1,
        "99 MB": 99_000_000,
        "a terabyte": 1 << 40,
    }
    for name, length in lengths.items():
        yield Case(
            f"a header of length {name}",
            partial(resealed, lambda content, length=length: struct.pack("<Q", length) + content[8:]),
            "is no whole safetensors file",
        )
    for name, content in {
        "nothing": b"",
        "eight bytes": bytes(8),
        "noise": np.random.default_rng(1).bytes(500),
        "a nested header": struct.pack("<Q", 100_000) + b"[" * 100_000,
        "a pickle": b"\x80\x04cposix\nsystem\n(X\x02\x00\x00\x00lstR.",
    }.items():
        yield Case(
            f"a sealed shard of {name}",
            partial(resealed, lambda _, c=content: c),
            "is no whole safetensors file",
        )
    for dtype in ("F64", "F32", "BF16", "I16", "U16", "I8", "BOOL", "F8_E4M3"):
        yield Case(f"maps of {dtype}", partial(resealed, partial(_header, partial(_as_type, dtype))), "")
    changes = {
        "maps of another shape": (_shaped([2, 2, 25, 1]), "have shape [2, 2, 25, 1], expected [2, 2, 5, 5]"),
        "maps of two axes": (_shaped([10, 10]), "have shape [10, 10], expected [2, 2, 5, 5]"),
        "maps of a billion rows": (_shaped([2, 2, 10**9, 10**9]), "is no whole safetensors file"),
        "maps of an overflow": (_shaped([1 << 62, 1 << 62]), "is no whole safetensors file"),
        "maps under another name": (
            _renamed("2.encoder", "3.encoder"),
            "are missing (tensor 2.encoder of maps-",
        ),
        "maps with an escape for a type": (_typed("F16\x1b[2J"), "is no whole safetensors file"),
        "two maps in one place": (_overlapping, "is no whole safetensors file"),
    }
    for name, (change, says) in changes.items():
        yield Case(name, partial(resealed, partial(_header, change)), says)
    for name, place in {
        "missing": lambda path: None,
        "a folder": lambda path: path.mkdir(),
        "a pipe": os.mkfifo,
        "a link to itself": lambda path: path.symlink_to(path),
        "a link to nothing": lambda path: path.symlink_to(path.parent / "nothing"),
        "a device": lambda path: path.symlink_to("/dev/zero"),
    }.items():
        yield Case(f"a shard that is {name}", partial(_instead, place), f"{SHARD} is missing")
    yield Case(
        "a shard that is a link out of the folder", _linked_out, "is a link that leads out of its folder"
    )


def _as_type(dtype: str, header: dict[str, Any]) -> None:
    """Say that the second segment's bytes are of another type, of a shape that they fill."""
    size = {"F64": 8, "F32": 4, "BF16": 2, "I16": 2, "U16": 2}.get(dtype, 1)
    begin, end = header["2.encoder"]["data_offsets"]
    shape = [2, 2, 5, 5] if size == 2 else [(end - begin) // size]
    header["2.encoder"].update(dtype=dtype, shape=shape)


def _shaped(shape: list[int]) -> Callable[[dict[str, Any]], None]:
    return lambda header: header["2.encoder"].update(shape=shape)


def _typed(dtype: str) -> Callable[[dict[str, Any]], None]:
    return lambda header: header["2.encoder"].update(dtype=dtype)


def _renamed(old: str, new: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda header: {new if name == old else name: part for name, part in header.items()}


def _overlapping(header: dict[str, Any]) -> None:
    header["2.encoder"]["data_offsets"] = header["1.encoder"]["data_offsets"]


def _instead(place: Callable[[Path], Any], folder: Path) -> Path:
    maps = copied(folder / "maps")
    (maps / SHARD).unlink()
    place(maps / SHARD)
    return maps


def _linked_out(folder: Path) -> Path:
    maps = copied(folder / "maps")
    (maps / SHARD).rename(folder / "elsewhere")
    (maps / SHARD).symlink_to(folder / "elsewhere")
    return maps


# --- weights

WRONG: dict[str, tuple[Callable[[np.ndarray], None], str]] = {
    "negative": (lambda row: row.__setitem__(slice(0, 2), [-0.5, row[0] + row[1] + 0.5]), "holds -0.5; expected"),
    "above 1": (lambda row: row.__setitem__(0, 1.5), "holds 1.5; expected weights between 0 and 1"),
    "all zero": (lambda row: row.__setitem__(slice(None), 0), "sums to 0; expected 1"),
    "of integers": (lambda row: row.__setitem__(slice(0, 3), [3, 1, 4]), "holds 3; expected weights between 0 and 1"),
    "that sum to less": (lambda row: row.__imul__(0.75), "sums to 0.7"),
    "that sum to more": (lambda row: row.__imul__(1.25), "sums to 1.25; expected 1"),
    "just too far off": (lambda row: row.__imul__(0.995), "sums to 0.99"),
    "NaN": (lambda row: row.__setitem__(1, np.nan), "holds nan; expected weights between 0 and 1"),
    "infinite": (lambda row: row.__setitem__(1, np.inf), "holds inf; expected weights between 0 and 1"),
    "minus infinite": (lambda row: row.__setitem__(1, -np.inf), "holds -inf; expected weights between 0 and 1"),
    "before the softmax": (lambda row: row.__setitem__(slice(0, 3), [-9, 2, 11]), "holds -9; expected weights"),
}  # fmt: skip


def _in_row(change: Callable[[np.ndarray], None], maps: np.ndarray) -> None:
    change(maps[1, 0, 2])


def _spoilt_rows(
    form: str, store: str, change: Callable[[np.ndarray], None], folder: Path, *, masked: bool = False
) -> Path:
    return whole(folder / "maps", form, store=store, change=change, masked=masked)


def rows() -> Iterator[Case]:
    """Third row of head 2-1 of the second segment: not what a softmax gives; for every kind and both types."""
    for form, kinds in FORMS.items():
        for store in ("float16", "float32"):
            for name, (change, says) in WRONG.items():
                head = "cross head 2-1" if kinds[-1] == "cross" else f"{kinds[-1]} head 2-1"
                yield Case(
                    f"{form} weights {name} in {store}",
                    partial(_spoilt_rows, form, store, partial(_in_row, change)),
                    f"row 3 of {head} in segment 1 of document b {says}",
                )
            yield Case(
                f"{form} weights that are right in {store}",
                partial(_spoilt_rows, form, store, lambda maps: None),
                None,
            )

    def later(maps: np.ndarray) -> None:
        maps[1, 0, 2] = [0, 0, 0, 1, 0]

    for store in ("float16", "float32"):
        yield Case(
            f"a decoder that looks ahead in {store}",
            partial(_spoilt_rows, "decoder", store, later),
            "row 3 of decoder head 2-1 in segment 1 of document b holds 1 for key 4, which is masked; expected 0",
        )

    def far(maps: np.ndarray) -> None:
        maps[1, 0, 2] = [1, 0, 0, 0, 0]

    yield Case(
        "a look out of a window",
        partial(_spoilt_rows, "encoder", "float16", far, masked=True),
        "row 3 of encoder head 2-1 in segment 1 of document b holds 1 for key 1, which is masked; expected 0",
    )


# --- trees of a treebank's maps


def trees() -> Iterator[Case]:
    """Fields heads and relns that are no tree; for `syntax`, which alone reads them."""
    for part in ("heads", "relns"):
        for name, value in ODD.items():
            says = None if (part, name) in {("heads", "numbers"), ("relns", "texts")} else "document a"
            yield Case(f"{part} is {name}", partial(edited, _set(value, "entries", 0, "fields", part)), says)
        change = _drop("entries", 0, "fields", part)
        yield Case(
            f"{part} is left out",
            partial(edited, change),
            "segment 1 of document a of these maps has no tree",
        )
    yield Case(
        "a head as text", partial(edited, _set("2", "entries", 0, "fields", "heads", 0)), "whole numbers"
    )
    yield Case(
        "a relation that is half",
        partial(edited, _set("\ud800", "entries", 0, "fields", "relns", 0)),
        "names",
    )
    yield Case(
        "too few heads", partial(edited, _set([], "entries", 0, "fields", "heads")), "found 0 heads and 2"
    )


def folders() -> Iterator[Case]:
    """Every damaged folder that any reader of maps must refuse."""
    for cases in (index_parts, index_values, index_files, masks, shards, rows):
        yield from cases()
