"""The index of a folder of saved attention maps, and the folder while it is written: shards of limited size first."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.encoding.segment import NO_WORD, Segment
from headscope.models.anatomy import KindLayout
from headscope.storage.atomic import whole_or_absent

FORMAT = "headscope maps"
VERSION = 1
INDEX = "index.json"
STORES = ("float16", "float32")


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """The input of one side of a model (its encoder, or its decoder) for a segment; lists of equal length.

    Attributes:
        tokens: names of the tokens, special tokens included.
        ids: ids of the tokens.
        classes: `KeyClass` of each token.
        word_ids: index of each token's word, `NO_WORD` for special tokens.
    """

    tokens: list[str]
    ids: list[int]
    classes: list[int]
    word_ids: list[int]

    def __len__(self) -> int:
        return len(self.tokens)

    def rows(self, *, by_word: bool) -> int:
        """Return the number of rows of a map: one per token, or one per word and per token outside words."""
        if not by_word:
            return len(self)
        alone = self.word_ids.count(NO_WORD)
        return len(set(self.word_ids)) - (alone > 0) + alone


@dataclass(frozen=True, kw_only=True)
class MapEntry:
    """One segment of the maps.

    Attributes:
        document: id of the document of the segment.
        index: index of the segment in its document, from 0.
        input: input of the encoder, or of a model without one.
        decoder: input of the decoder of an encoder-decoder; else None.
        token_types: 0 or 1 for the texts of a pair, by token of `input`.
        words: the words, if the corpus has words.
        shortened: whether tokens were left out to make it fit.
        fields: further fields of the corpus entry.
        shard: index of the file that holds the segment.
        name: prefix of its tensors in that file: `NAME.KIND`, `[layer, head, query, key]`.
        masks: for each kind, the mask of each layer, or None for the kind's default (`default_mask`); kinds with only
            defaults are left out.
    """

    document: str
    index: int
    input: Tokens
    decoder: Tokens | None = None
    token_types: list[int] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    shortened: bool = False
    fields: Mapping[str, Any] = field(default_factory=dict)
    shard: int = 0
    name: str = ""
    masks: Mapping[str, list[int | None]] = field(default_factory=dict)

    def queries(self, kind: str) -> Tokens:
        """Return the attending tokens."""
        return self.input if self.decoder is None or kind == "encoder" else self.decoder

    def keys(self, kind: str) -> Tokens:
        """Return the attended tokens."""
        return self.decoder if self.decoder is not None and kind == "decoder" else self.input


@dataclass(frozen=True, kw_only=True)
class Shard:
    """A safetensors file: its name in the folder, its size in bytes, and its BLAKE2b hash (32 hex digits)."""

    file: str
    bytes: int
    hash: str


@dataclass(frozen=True, kw_only=True)
class Mask:
    """The position of a mask: tensor `name` of a shard, bits of `[rows, keys]` packed row by row (1 = visible)."""

    shard: int
    name: str
    rows: int
    keys: int


@dataclass(frozen=True, kw_only=True)
class MapsIndex:
    """The contents of a maps folder except the weights.

    Attributes:
        model: facts about the model: name, revision, weights (their hash), family.
        special: text of the `cls` and `sep` tokens; None if there is none.
        layout: the kinds of attention and their sizes.
        store: dtype of the maps, float16 or float32.
        word_level: how attention from the pieces of a word was pooled (mean, first, max), or None: by token.
        signature: what the maps depend on, as in a run's manifest.
        shards: the files.
        masks: the masks that are not a kind's default.
        entries: the segments, in the order of the corpus.
    """

    model: Mapping[str, Any]
    special: Mapping[str, str | None]
    layout: tuple[KindLayout, ...]
    store: str
    word_level: str | None
    signature: Mapping[str, Any]
    shards: tuple[Shard, ...] = ()
    masks: tuple[Mask, ...] = ()
    entries: tuple[MapEntry, ...] = ()

    def size(self, entry: MapEntry, kind: str) -> tuple[int, int]:
        """Return the numbers of rows and keys of a segment's maps of a kind."""
        by_word = self.word_level is not None
        return entry.queries(kind).rows(by_word=by_word), entry.keys(kind).rows(by_word=by_word)


def default_mask(kind: str, rows: int, keys: int) -> NDArray[np.bool_]:
    """Return the default mask of a kind: all keys; in a decoder, a token and the tokens before it."""
    every = np.ones((rows, keys), dtype=bool)
    return np.tril(every) if kind == "decoder" else every


def write_index(index: MapsIndex, folder: Path) -> None:
    """Write `index.json`, one entry per line."""
    head = {"format": FORMAT, "version": VERSION, **asdict(replace(index, entries=()))}
    head["layout"] = [part.record() for part in index.layout]
    del head["entries"]
    with (folder / INDEX).open("w", encoding="utf-8") as file:
        file.write(json.dumps(head)[:-1] + ', "entries": [\n')
        for number, entry in enumerate(index.entries):
            # Not asdict, because it copies every token.
            sides = {"input": vars(entry.input), "decoder": entry.decoder and vars(entry.decoder)}
            separator = ",\n" if number else ""
            file.write(separator + json.dumps({**vars(entry), **sides}))
        file.write("\n]}\n")


SHARD_BYTES = 256 << 20


@contextmanager
def maps_folder(
    path: str | Path, index: MapsIndex, *, shard_bytes: int = SHARD_BYTES, replace: bool = False
) -> "Iterator[MapsFolder]":
    """Write a folder of maps inside the `with` block.

    The folder appears complete when the block ends without an error: until then everything is written to a temporary
    folder next to it, which is removed after an error or Ctrl-C.

    Args:
        path: folder to make.
        index: what is known before the first segment.
        shard_bytes: size at which a shard is closed; at most this many bytes are held in memory, or one segment if that
            is more.
        replace: whether an existing folder at `path` is replaced.

    Raises:
        OutputError: `path` exists and may not be replaced.
        ValueError: an unknown `store` in the index.
    """
    if index.store not in STORES:
        raise ValueError(f"store {index.store!r} is not known; choose one of {', '.join(STORES)}")
    with whole_or_absent(Path(path), replace=replace) as part:
        part.mkdir()
        folder = MapsFolder(part, index, shard_bytes=shard_bytes)
        yield folder
        folder.close()


class MapsFolder:
    """A folder of maps that is written segment by segment; see `maps_folder`.

    Attributes:
        index: what is known before the first segment.
        dtype: dtype of the maps.
        bytes: size of the closed shards.
    """

    def __init__(self, folder: Path, index: MapsIndex, *, shard_bytes: int) -> None:
        self.index = index
        self.dtype = np.dtype(index.store)
        self.bytes = 0
        self._folder, self._shard_bytes = folder, shard_bytes
        self._open: dict[str, NDArray[Any]] = {}
        self._shards: list[Shard] = []
        self._masks: list[Mask] = []
        self._mask_numbers: dict[tuple[int, int, bytes], int] = {}
        self._entries: list[MapEntry] = []
        self._order: dict[tuple[str, int], int] = {}

    def in_order(self, segments: Iterable[Segment]) -> Iterator[Segment]:
        """Pass segments on and remember their order: the maps are read back in this order, however batches are cut."""
        for segment in segments:
            self._order[segment.document, segment.index] = len(self._order)
            yield segment

    def close(self) -> None:
        """Write the last shard and the index."""
        self._close_shard()
        if self._order:
            self._entries.sort(key=lambda entry: self._order[entry.document, entry.index])
        shards, masks, entries = tuple(self._shards), tuple(self._masks), tuple(self._entries)
        write_index(replace(self.index, shards=shards, masks=masks, entries=entries), self._folder)

    def add(
        self, entry: MapEntry, maps: Mapping[str, NDArray[Any]], visible: Mapping[str, NDArray[np.bool_]] | None = None
    ) -> None:
        """Add a segment.

        Args:
            entry: entry of the index; `shard`, `name` and `masks` are filled in here.
            maps: for each kind of the layout, `[layer, head, query, key]`.
            visible: for each kind, the keys that a row may attend to, `[layer, query, key]`; None for the kinds'
                default masks.
        """
        name = str(len(self._entries) + 1)
        masks = {}
        for kind, layers in (visible or {}).items():
            numbers = [self._mask_number(kind, layer) for layer in layers]
            if any(number is not None for number in numbers):
                masks[kind] = numbers
        for kind, weights in maps.items():
            self._open[f"{name}.{kind}"] = np.ascontiguousarray(weights, dtype=self.dtype)
        self._entries.append(replace(entry, shard=len(self._shards), name=name, masks=masks))
        if sum(array.nbytes for array in self._open.values()) >= self._shard_bytes:
            self._close_shard()

    def _mask_number(self, kind: str, visible: NDArray[np.bool_]) -> int | None:
        """Return the number of a mask, and store it the first time; None for the kind's default."""
        rows, keys = visible.shape
        if np.array_equal(visible, default_mask(kind, rows, keys)):
            return None
        bits = np.packbits(visible, axis=None)
        key = (rows, keys, blake2b(bits.tobytes(), digest_size=16).digest())
        if key not in self._mask_numbers:
            number = self._mask_numbers[key] = len(self._masks)
            self._masks.append(Mask(shard=len(self._shards), name=f"mask.{number + 1}", rows=rows, keys=keys))
            self._open[f"mask.{number + 1}"] = bits
        return self._mask_numbers[key]

    def _close_shard(self) -> None:
        if not self._open:
            return
        from safetensors.numpy import save

        # As bytes, not by save_file, which hides "no space left on device" in an error of its own.
        content = save(self._open)
        file = f"maps-{len(self._shards) + 1:05d}.safetensors"
        (self._folder / file).write_bytes(content)
        self._shards.append(Shard(file=file, bytes=len(content), hash=blake2b(content, digest_size=16).hexdigest()))
        self.bytes += len(content)
        self._open = {}
