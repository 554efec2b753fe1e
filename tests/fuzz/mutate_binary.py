"""Mutations of binary formats: pickles, Parquet, safetensors, gzip."""

import gzip
import io
import pickletools
import struct
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import Any

import pandas as pd

from fuzz.ingredients import Ingredients
from fuzz.mutate_json import mutate_tree

_GLOBALS = (
    *(b"cfuzz.canary\nsing\n", b"cos\nsystem\n", b"cbuiltins\neval\n", b"cnumpy.core.multiarray\n_reconstruct\n"),
    *(b"cnumpy\nndarray\n", b"cnumpy\ndtype\n", b"c_codecs\nencode\n", b"cnumpy.core.multiarray\nscalar\n"),
    b"cnumpy.core.numeric\n_frombuffer\n",
)  # fmt: skip
_CALLS = (*_GLOBALS, b"R", b"b", b"(", b"t", b")", b"]", b"}", b"u", b"a", b"e", b"0", b"2", b"\x93", b"\x81", b".")


def mutate_pickle(content: bytes, rng: Random, use: Ingredients) -> bytes | None:
    """Return a pickle with instructions removed, doubled or moved, or with changed numbers."""
    try:
        starts = [position for _, _, position in pickletools.genops(content) if position is not None]
    except Exception:  # it is broken already
        return None
    edges = [*starts, len(content)]
    parts = [content[begin:end] for begin, end in pairwise(edges)]
    at, to = rng.randrange(len(parts)), rng.randrange(len(parts))
    match rng.randrange(7):
        case 0:
            del parts[at]
        case 1:
            parts.insert(to, parts[at])
        case 2:
            parts[at], parts[to] = parts[to], parts[at]
        case 3:
            parts.insert(at, rng.choice(_CALLS))
        case 4:
            parts.insert(at, rng.choice(_GLOBALS) + b"(" + b"U\x03abc" * rng.randint(0, 3) + b"tR")
        case 5:
            parts[at:at] = parts[min(at, to) : max(at, to)] * rng.choice((1, 2, 30))
        case _:
            parts[at] = _other_argument(parts[at], rng)
    return b"".join(parts)


def _other_argument(part: bytes, rng: Random) -> bytes:
    number = rng.choice((0, 1, 255, 2**16, 2**31 - 1, 2**32 - 1, 2**63 - 1))
    if len(part) < 2:
        return part
    width = rng.choice((1, 2, 4, 8))
    return part[:1] + (number % (1 << 8 * width)).to_bytes(width, "little") + part[1 + width :]


def mutate_table(content: bytes, rng: Random, use: Ingredients) -> bytes | None:
    """Return a Parquet file with other columns, types, rows or values."""
    try:
        table = pd.read_parquet(io.BytesIO(content))
        changed = _changed(table, rng, use)
        held = io.BytesIO()
        changed.to_parquet(held, index=False)
    except Exception:  # broken already, or impossible in Parquet
        return None
    return held.getvalue()


def _changed(table: pd.DataFrame, rng: Random, use: Ingredients) -> pd.DataFrame:
    names = list(table.columns)
    name, other = rng.choice(names), rng.choice(names)
    value: Any = rng.choice((None, *use.numbers, *use.texts, [], [1.0]))
    match rng.randrange(10):
        case 0:
            return table.drop(columns=name)
        case 1:
            return table.rename(columns={name: str(rng.choice(use.texts))})
        case 2:
            return table.iloc[:0] if rng.random() < 0.3 else table.sample(frac=0.5, random_state=rng.randrange(99))
        case 3:
            return table.assign(**{name: [value] * len(table)})
        case 4:
            return table.assign(**{name: table[other].to_numpy()})
        case 5:
            return table.assign(**{name: table[name].astype(str)})
        case 6:
            return pd.concat([table] * rng.choice((2, 3)), ignore_index=True)
        case 7:
            return table.assign(**{name: table[name].sample(frac=1, random_state=rng.randrange(99)).to_numpy()})
        case 8:
            return table.assign(**{name: None})
    cells = table[name].tolist()
    cells[rng.randrange(len(cells))] = value
    return table.assign(**{name: cells})


def mutate_tensors(content: bytes, rng: Random, use: Ingredients) -> bytes | None:
    """Return a safetensors file with a changed header or changed numbers."""
    if len(content) < 8:
        return None
    (size,) = struct.unpack("<Q", content[:8])
    if rng.random() < 0.5 and len(content) > 8 + size:  # numbers that no model has
        at = rng.randrange(8 + size, len(content))
        width = rng.choice((2, 4))
        number = rng.choice((float("nan"), float("inf"), -1.0, 2.0, 0.0, -0.0, 1e-7, 6e4))
        packed = struct.pack("<e" if width == 2 else "<f", number) * rng.choice((1, 6, 99))
        at -= (at - 8 - size) % width
        return (content[:at] + packed + content[at + len(packed) :])[: len(content)]
    header = mutate_tree(content[8 : 8 + size], rng, use)
    if header is None:
        return None
    told = len(header) if rng.random() < 0.9 else rng.choice((0, 1, size * 2, 2**31, 2**63))
    return struct.pack("<Q", told) + header + content[8 + size :]


def mutate_packed(content: bytes, rng: Random, change: Callable[[bytes], bytes]) -> bytes | None:
    """Return a gzip file with mutated content, or one with two members."""
    try:
        plain = gzip.decompress(content)
    except Exception:  # broken already
        return None
    changed = gzip.compress(change(plain), 1, mtime=0)
    return changed if rng.random() < 0.8 else changed + rng.choice((content, b"\0" * 99, changed[:-4], b"x"))
