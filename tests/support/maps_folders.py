"""Small valid folders of saved maps, for tests that damage them."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from headscope.maps.index import MapEntry, MapsIndex, Tokens, maps_folder
from headscope.models.anatomy import KindLayout

SHARD = "maps-00001.safetensors"
WORDS = ["cats", "sleep"]
FIELDS = {"heads": [2, 0], "relns": ["nsubj", "root"]}
FORMS = {
    "encoder": ("encoder",),
    "decoder": ("decoder",),
    "words": ("encoder",),
    "three": ("encoder", "decoder", "cross"),
}


def tokens() -> Tokens:
    return Tokens(
        tokens=["[CLS]", "cat", "##s", "sleep", "[SEP]"],
        ids=[101, 7, 8, 9, 102],
        classes=[1, 0, 0, 0, 2],
        word_ids=[-1, 0, 0, 1, -1],
    )


def weights(kind: str, rows: int) -> np.ndarray:
    """Return valid maps: two layers of two heads that attend uniformly to all visible keys."""
    seen = np.tril(np.ones((rows, rows))) if kind == "decoder" else np.ones((rows, rows))
    return np.broadcast_to(seen / seen.sum(-1, keepdims=True), (2, 2, rows, rows)).copy()


def window(rows: int) -> np.ndarray:
    """Return a mask that is not a default: neighbors only."""
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
    """Write a valid folder of two treebank segments; `change` may spoil the last kind's maps of the second."""
    kinds = FORMS[form]
    rows = 4 if form == "words" else 5
    index = MapsIndex(
        model={"name": "tiny", "revision": None, "weights": "w", "family": "bert"},
        special={"cls": "[CLS]", "sep": "[SEP]"},
        layout=tuple(KindLayout(kind, 2, 2) for kind in kinds),
        store=store,
        word_level="mean" if form == "words" else None,
        signature={"id": "x", "corpus": {"hash": "h", "documents": 2}, "options": {}, "tokenizer": "t"},
    )
    with maps_folder(folder, index) as writer:
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
    """Write a valid folder of an encoder's maps, from cached content."""
    folder.mkdir()
    for name, content in _files(masked).items():
        (folder / name).write_bytes(content)
    return folder


@cache
def _files(masked: bool) -> dict[str, bytes]:
    with TemporaryDirectory() as made:
        return {path.name: path.read_bytes() for path in whole(Path(made) / "maps", masked=masked).iterdir()}


def edited(change: Callable[[dict[str, Any]], Any], folder: Path, *, masked: bool = False) -> Path:
    """Write a valid folder and change its index."""
    place = copied(folder / "maps", masked=masked)
    path = place / "index.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return place
