"""The index of a folder of saved maps, and the tokens or words of their rows and columns."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from headscope.attention.words.word_attention import word_axis
from headscope.encoding.segment import NO_WORD, Segment, SegmentInfo
from headscope.encoding.vocabulary import KeyClass
from headscope.models.anatomy import KindLayout

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


def rows_of(side: Tokens, *, by_word: bool) -> Tokens:
    """Return the tokens of a map's rows: the tokens themselves, or their words."""
    if not by_word:
        return side
    word_ids = torch.tensor([side.word_ids])
    axis = word_axis(word_ids, torch.ones_like(word_ids, dtype=torch.bool))
    leaders: list[int] = axis.leaders[0].tolist()
    sizes: list[int] = torch.bincount(axis.places[0], minlength=len(leaders)).tolist()
    return Tokens(
        tokens=[side.tokens[first] for first in leaders],
        ids=[side.ids[first] for first in leaders],
        classes=[side.classes[first] if n == 1 else KeyClass.OTHER for first, n in zip(leaders, sizes)],
        word_ids=[side.word_ids[first] for first in leaders],
    )


def segment_of(entry: MapEntry, rows: Tokens) -> Segment:
    """Return the segment with these rows."""
    types = np.zeros(len(rows), dtype=np.int64)
    if len(entry.token_types) == len(rows):
        types[:] = entry.token_types
    return Segment(
        document=entry.document,
        index=entry.index,
        ids=np.array(rows.ids, dtype=np.int64),
        token_types=types,
        word_ids=np.array(rows.word_ids, dtype=np.int64),
        words=tuple(entry.words),
        shortened=entry.shortened,
        fields=entry.fields,
    )


def padded(rows: Sequence[Any], fill: int) -> torch.Tensor:
    """Stack rows of numbers, padded on the right."""
    table = torch.full((len(rows), max(map(len, rows))), fill)
    for line, values in zip(table, rows):
        line[: len(values)] = torch.as_tensor(values)
    return table


def info_of(segments: Sequence[Segment], classes: Sequence[list[int]], word_ids: Sequence[list[int]]) -> SegmentInfo:
    """Return the data of a padded batch, with classes and words as they were saved."""
    valid = padded([np.ones(len(segment)) for segment in segments], 0).bool()
    of_class = padded(classes, KeyClass.OTHER)
    return SegmentInfo(
        ids=padded([segment.ids for segment in segments], 0),
        classes=of_class,
        word_ids=padded(word_ids, NO_WORD),
        valid=valid,
        lengths=valid.sum(1),
        documents=tuple(segment.document for segment in segments),
        indices=tuple(segment.index for segment in segments),
        rows_per_class=torch.stack([((of_class == c) & valid).sum(1) for c in KeyClass], dim=1),
    )
