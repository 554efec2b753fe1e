"""The files of a folder of saved maps, opened only if they match the index, and the tokens of their rows."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from headscope.attention.word_attention import word_axis
from headscope.encoding.batching import Batch, padded_batch
from headscope.encoding.segment import Segment
from headscope.encoding.vocabulary import KeyClass
from headscope.errors import InputError
from headscope.maps.index import MapEntry, MapsIndex, Mask, Shard, Tokens
from headscope.models.anatomy import KindLayout
from headscope.storage.atomic import hash_of_file
from headscope.storage.bounded import UnreadableFileError, check_regular
from headscope.visible import shown

_COPY = "copy the whole folder again, or extract the maps again"
_DTYPES = {"float16": "F16", "float32": "F32"}


class MapsShards:
    """Read the tensors of a folder of maps.

    The existence, size and tensors of the files are checked against the index at once, which only reads their headers.
    Their bytes are compared with the hash in the index when a file is first read.

    Args:
        folder: folder of the files.
        index: index of the folder, with the expected tensors.

    Raises:
        InputError: a file is missing, is cut off, is a link out of the folder, or holds other tensors.
    """

    def __init__(self, folder: Path, index: MapsIndex) -> None:
        self.folder = folder
        self.index = index
        self._trusted: set[int] = set()
        self._check_headers()

    def open(self, number: int, stack: ExitStack) -> Any:
        """Open a file; it is closed with the stack.

        Raises:
            InputError: the bytes of the file are not those that were written.
        """
        shard = self.index.shards[number]
        if number not in self._trusted:
            path, _ = _found(self.folder, shard)
            if hash_of_file(path) != shard.hash:
                raise InputError(f"{path} is not the file that was written (its hash differs); {_COPY}")
            self._trusted.add(number)
        return stack.enter_context(self._opened(shard))

    def path(self, number: int) -> Path:
        """Return the path of a file."""
        return self.folder / self.index.shards[number].file

    def maps(self, file: Any, entry: MapEntry, kind: str) -> Any:
        """Return a segment's stored maps of a kind `[layer, head, query, key]`, which can be read layer by layer."""
        return file.get_slice(f"{entry.name}.{kind}")

    def mask(self, mask: Mask) -> NDArray[np.bool_]:
        """Return the keys that each row may attend to, `[row, key]`."""
        with ExitStack() as stack:
            bits = self.open(mask.shard, stack).get_tensor(mask.name)
        return np.unpackbits(bits, count=mask.rows * mask.keys).reshape(mask.rows, mask.keys).astype(bool)

    def _opened(self, shard: Shard) -> Any:
        path = self.folder / shard.file
        try:
            return safe_open(str(path), framework="numpy")
        except (SafetensorError, ValueError) as error:
            raise InputError(f"{path} is not a whole safetensors file ({shown(error)}); {_COPY}") from None

    def _check_headers(self) -> None:
        entries: dict[int, list[MapEntry]] = {}
        for entry in self.index.entries:
            entries.setdefault(entry.shard, []).append(entry)
        for number, shard in enumerate(self.index.shards):
            path, size = _found(self.folder, shard)
            if size != shard.bytes:
                raise InputError(f"{path} has {size:,} bytes, expected {shard.bytes:,}; {_COPY}")
            with self._opened(shard) as file:
                names = set(file.keys())
                for entry in entries.get(number, ()):
                    for part in self.index.layout:
                        self._check_maps(file, names, entry, part)
                for mask in self.index.masks:
                    if mask.shard == number:
                        self._check_mask(file, names, mask)

    def _check_maps(self, file: Any, names: set[str], entry: MapEntry, part: KindLayout) -> None:
        expected = (_DTYPES[self.index.store], [part.layers, part.heads, *self.index.size(entry, part.kind)])
        name = f"{entry.name}.{part.kind}"
        where = f"{self.folder}: the {part.kind} maps of segment {entry.index + 1} of document {entry.document}"
        if name not in names:
            raise InputError(f"{where} are missing (tensor {name} of {self.path(entry.shard).name}); {_COPY}")
        stored = file.get_slice(name)
        if (found := (stored.get_dtype(), stored.get_shape())) != expected:
            raise InputError(
                f"{where} are {found[0]} of shape {found[1]}, expected {expected[0]} of shape {expected[1]} [layers, "
                f"heads, queries, keys] as the index says; {_COPY}"
            )

    def _check_mask(self, file: Any, names: set[str], mask: Mask) -> None:
        expected = [-(-mask.rows * mask.keys // 8)]
        stored = file.get_slice(mask.name) if mask.name in names else None
        came = None if stored is None else (stored.get_dtype(), stored.get_shape())
        if came != ("U8", expected):
            what = "is missing" if came is None else f"is {came[0]} of shape {came[1]}"
            raise InputError(
                f"{self.path(mask.shard)}: {mask.name} {what}, expected U8 of shape {expected}, a bit for each of "
                f"{mask.rows:,} rows and {mask.keys:,} keys; {_COPY}"
            )


def _found(folder: Path, shard: Shard) -> tuple[Path, int]:
    """Return a file's path and size; refuse a file that is missing, outside the folder, or not a regular file."""
    path = folder / shard.file
    try:
        size = check_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path} is missing; {_COPY}") from None
    except UnreadableFileError as error:
        raise InputError(f"{path} {error.problem}; {_COPY}") from None
    if path.is_symlink() and path.resolve().parent != folder.resolve():
        raise InputError(
            f"{path} is a link that leads out of its folder; expected the file itself: copy it there, or extract the "
            "maps again"
        )
    return path, size


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


def padded_rows(entries: Sequence[MapEntry], rows: Sequence[Tokens]) -> Batch:
    """Return a batch of the rows of some entries, with classes and words as they were saved."""
    segments = [_segment(entry, row) for entry, row in zip(entries, rows, strict=True)]
    return padded_batch(segments, [row.classes for row in rows], pad_id=0, padding_side="right")


def _segment(entry: MapEntry, rows: Tokens) -> Segment:
    types = entry.token_types if len(entry.token_types) == len(rows) else [0] * len(rows)
    return Segment(
        document=entry.document,
        index=entry.index,
        ids=np.array(rows.ids, dtype=np.int64),
        token_types=np.array(types, dtype=np.int64),
        word_ids=np.array(rows.word_ids, dtype=np.int64),
        words=tuple(entry.words),
        shortened=entry.shortened,
        fields=entry.fields,
    )
